// slot.hpp: what "slot.hpp" means to its neighbours.
#pragma once
