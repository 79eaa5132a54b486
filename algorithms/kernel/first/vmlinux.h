#include "kernel_struct_ops.h"
