import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Command {
  summary?: string
  description?: string
  examples?: (string | { description: string; command: string })[]
  flags: Record<string, { type: string; allowNo?: boolean }>
  args: Record<string, { required?: boolean }>
  pluginName: string
}

/** Made by the build from the commands themselves. */
const manifest = new URL('../../../oclif.manifest.json', import.meta.url)
const { commands } = JSON.parse(readFileSync(manifest, 'utf8')) as { commands: Record<string, Command> }
const ours = Object.entries(commands)

function flagOf({ flags }: Command, name: string) {
  const byAlias = () => Object.values(flags).find((flag) => (flag as { aliases?: string[] }).aliases?.includes(name))
  return flags[name] ?? flags[name.replace(/^no-/, '')] ?? byAlias()
}

test('there are commands to look at', () => {
  expect(ours.length).toBeGreaterThan(25)
})

test.each(ours)('the help of %s has a summary and at least two examples that could be run', (id, command) => {
  expect(command.summary).toMatch(/^[A-Z].*\.$/s)
  const examples = (command.examples ?? []).map((example) => (typeof example === 'string' ? example : example.command))
  expect(examples.length).toBeGreaterThanOrEqual(2)
  expect(new Set(examples).size).toBe(examples.length)
  for (const example of examples) {
    const [, call] = /(?:^|[ |(])<%= config\.bin %> (.+)$/.exec(example) ?? []
    expect(call, example).toMatch(new RegExp(`^${id.replaceAll(':', ' ')}( |$)`))
    for (const [, name] of call!.matchAll(/ --([\w-]+)/g)) {
      const flag = flagOf(command, name!)
      expect(flag, `${example} names --${name}`).toBeDefined()
    }
    const required = Object.values(command.args).filter((arg) => arg.required).length
    const words = call!.split(' --')[0]!.split(' ').slice(id.split(':').length)
    expect(words.length, example).toBeGreaterThanOrEqual(required)
  }
})

test.each(ours)('the flags of %s are explained', (_, command) => {
  for (const [name, flag] of Object.entries(command.flags)) {
    const { summary, description } = flag as { summary?: string; description?: string }
    expect(summary ?? description, name).toMatch(/\w/)
  }
})

test('every list takes the flags of lists', () => {
  const lists = ours.filter(([id]) => id.endsWith(':list') || ['webhook:deliveries', 'template:versions'].includes(id))
  expect(lists.length).toBeGreaterThan(12)
  for (const [id, { flags }] of lists) {
    expect(Object.keys(flags), id).toEqual(expect.arrayContaining(['columns', 'sort', 'csv', 'jsonl', 'raw-cells']))
  }
})
