// surprise.hpp: a public header that tidy's table does not know. want(layers)
#pragma once
