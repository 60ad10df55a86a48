"""Any image-text-to-text model of `transformers`, or a plain language model, as a policy that is trained.

loading.py finds model, tokenizer and image processor; reader.py turns situations into tensors; sampling.py makes
answers with their exact log-probabilities; adapter.py says what is trained; policy.py puts them together.
"""
