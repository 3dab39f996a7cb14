#!/usr/bin/env node
// Runs from source, which is the root: beside the package oclif would find the manifest of a build, and quietly run an old dist.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { execute } from '@oclif/core'
import { register } from 'tsx/esm/api'

const root = fileURLToPath(new URL('../src', import.meta.url))
const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8')
const pjson = JSON.parse(text, (_, value) => (typeof value === 'string' ? value.replace(/^\.\/dist\//, './') : value))
pjson.oclif.commands = { strategy: 'explicit', target: '../bin/dev-commands.js', identifier: 'commands' }

register()
await execute({ development: true, loadOptions: { root, pjson } })
