#include "cc_types.h"
