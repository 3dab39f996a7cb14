import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Command {
  summary?: string
  description?: string
  examples?: (string | { description: string; command: string })[]
  flags: Record<string, { type: string; allowNo?: boolean; default?: unknown }>
  args: Record<string, { required?: boolean }>
  strict?: boolean
  pluginName: string
}

/** The build creates the manifest from the commands. */
const manifest = new URL('../../../oclif.manifest.json', import.meta.url)
const { commands } = JSON.parse(readFileSync(manifest, 'utf8')) as { commands: Record<string, Command> }
const ours = Object.entries(commands)

function flagOf({ flags }: Command, name: string) {
  const byAlias = () => Object.values(flags).find((flag) => (flag as { aliases?: string[] }).aliases?.includes(name))
  return flags[name] ?? flags[name.replace(/^no-/, '')] ?? byAlias()
}

test('finds the commands of the manifest', () => {
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
    // The help shows the default in front of the summary.
    expect(summary ?? '', name).not.toContain(`(${flag.default})`)
  }
})

test('every list takes the flags of lists', () => {
  const lists = ours.filter(([id]) => id.endsWith(':list') || ['webhook:deliveries', 'template:versions'].includes(id))
  expect(lists.length).toBeGreaterThan(12)
  for (const [id, { flags }] of lists) {
    expect(Object.keys(flags), id).toEqual(expect.arrayContaining(['columns', 'sort', 'csv', 'jsonl', 'raw-cells']))
  }
})

test('hints and messages name only valid commands and flags', () => {
  const source = new URL('../../../src/', import.meta.url)
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
  const named = files.flatMap((path) => {
    const text = readFileSync(new URL(path, source), 'utf8')
    return [...text.matchAll(/\bpasses ([\w -]+)/g)].map(([, words]) => ({ path, words: words!.trim().split(' ') }))
  })
  const faults = named.flatMap(({ path, words }) => {
    const fault = faultOf(words)
    return fault === undefined ? [] : [`${path}: passes ${words.join(' ')}: ${fault}`]
  })
  expect(named.length).toBeGreaterThan(100)
  expect(faults).toEqual([])
})

/** Returns the fault of an example call, or `undefined`. Words in CAPITALS are placeholders of arguments. */
function faultOf(words: string[]): string | undefined {
  const lengths = words.map((_, index) => words.length - index)
  const length = lengths.find((n) => commands[words.slice(0, n).join(':')])
  if (length === undefined) return undefined
  const command = commands[words.slice(0, length).join(':')]!
  let room = command.strict === false ? Number.POSITIVE_INFINITY : Object.keys(command.args).length
  for (let at = length; at < words.length; at += 1) {
    const word = words[at]!
    if (word.startsWith('--')) {
      const flag = word === '--help' ? { type: 'boolean' } : flagOf(command, word.slice(2))
      if (!flag) return `there is no ${word}`
      if (flag.type === 'option') at += 1
    } else if (/^[A-Z]+$/.test(word)) {
      room -= 1
      if (room < 0) return `it takes no ${word}`
    } else return undefined
  }
  return undefined
}
