#!/usr/bin/env node
import { execute, settings } from '@oclif/core'

// The program is already built. With NODE_ENV=test or development, oclif would otherwise load a TypeScript transpiler.
settings.enableAutoTranspile = false
await execute({ dir: import.meta.url })
