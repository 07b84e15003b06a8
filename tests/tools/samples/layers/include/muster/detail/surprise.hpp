// surprise.hpp: a detail that tidy's table does not know. want(layers)
#pragma once
