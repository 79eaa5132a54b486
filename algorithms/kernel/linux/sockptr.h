#include "kernel_dialect.h"
