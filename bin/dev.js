#!/usr/bin/env node
// Runs from source. oclif is told so: left to itself it looks for tsconfig's outDir, or quietly runs an old dist.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { execute } from '@oclif/core'
import { register } from 'tsx/esm/api'

const root = fileURLToPath(new URL('..', import.meta.url))
const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const pjson = JSON.parse(text, (_, value) =>
  typeof value === 'string' ? value.replace(/^\.\/dist\//, './src/') : value,
)

register()
await execute({ development: true, loadOptions: { root, pjson, ignoreManifest: true } })
