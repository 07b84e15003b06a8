// stray.cpp: belongs to nobody. want(layers)
