"""The built-in phone: a state (plain data), a view (state -> widgets -> pixels) and touch (pixel -> widget -> state).

    state --page functions--> View --layout--> Laid --paint--> pixels
      ^                                         |
      '------- Do (a function and arguments) <--'-- tap

Reading order: nodes, widgets, layout, paint, frame, app, phone, device; then any file of apps/.
"""
