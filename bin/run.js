#!/usr/bin/env node
import { execute, settings } from '@oclif/core'

// What was built runs as it is: where NODE_ENV says test or development, oclif would load a transpiler for it first.
settings.enableAutoTranspile = false
await execute({ dir: import.meta.url })
