// widget.cpp: stands in a folder that is no layer. want(layers)
