import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command, Config, Interfaces } from '@oclif/core'
import { createClient } from '../client/client.ts'
import { makePrivateFolder, replacePrivateSync } from '../files/private-file.ts'
import { listCandidates, type NamedKind, namedKindOf } from './arguments/named.ts'
import { readProfiles } from './settings/profile.ts'
import { type ConnectionFlags, completionFolder, profileInUse, resolveConnection } from './settings/settings.ts'

type Flag = Command.Flag.Cached
type Commands = Pick<Config, 'commands' | 'topics' | 'findCommand'>

/**
 * Completes the last word of a command line. `words` are the words after the program's name, as the shell splits them:
 * bash splits `--status=ISS` into three. Returns nothing for free text and files.
 */
export async function complete(config: Commands, words: readonly string[]): Promise<Offer[]> {
  const { before, current } = joined(words)
  const isHelp = before[0] === 'help'
  const typed = isHelp ? before.slice(1) : before
  const path = pathIn(config, typed)
  const rest = typed.slice(path.length)
  if (rest.length === 0 && !current.startsWith('-')) {
    const offers = nextWords(config, path)
    if (offers.length > 0) return starting(offers, current)
  }
  const command = config.findCommand(path.join(':'))
  if (isHelp || !command) return []
  const flags = Object.values(command.flags)
  const wanted = rest.length > 0 ? flagNamed(flags, rest.at(-1)!) : undefined
  if (wanted?.type === 'option') return valuesOf(command, wanted, before, current)
  const [, name = '', value = ''] = /^(--[^=]+)=(.*)$/s.exec(current) ?? []
  const assigned = name && flagNamed(flags, name)
  if (assigned && assigned.type === 'option') {
    const offers = await valuesOf(command, assigned, before, value)
    return offers.map((offer) => ({ ...offer, value: `${name}=${offer.value}` }))
  }
  if (current.startsWith('-')) return starting(flagOffers(flags, rest), current)
  return starting(await argumentOffers(command, positionOf(flags, rest), before), current)
}

/** Drops the words `=`, because bash splits `--flag=value` into three words. */
function joined(words: readonly string[]) {
  const before = words.slice(0, -1).filter((word) => word !== '=')
  const current = words.at(-1) ?? ''
  return { before, current: current === '=' ? '' : current }
}

function pathIn({ commands }: Commands, words: readonly string[]): string[] {
  const isKnown = (path: string) => commands.some(({ id }) => id === path || id.startsWith(`${path}:`))
  const end = words.findIndex((_, index) => !isKnown(words.slice(0, index + 1).join(':')))
  return words.slice(0, end === -1 ? words.length : end)
}

function nextWords({ commands, topics }: Commands, path: readonly string[]): Offer[] {
  const above = path.map((word) => `${word}:`).join('')
  const offers = new Map<string, Offer>()
  for (const { id, hidden, summary } of commands) {
    if (hidden || !id.startsWith(above) || id === above) continue
    const [value = '', ...deeper] = id.slice(above.length).split(':')
    const about = deeper.length > 0 ? topics.find(({ name }) => name === above + value)?.description : summary
    if (value) offers.set(value, { value, about })
  }
  return [...offers.values()].toSorted((a, b) => (a.value < b.value ? -1 : 1))
}

function flagNamed(flags: readonly Flag[], word: string): Flag | undefined {
  return flags.find(({ name, char, aliases }) => {
    return word === `--${name}` || (char && word === `-${char}`) || aliases?.some((alias) => word === `--${alias}`)
  })
}

function flagOffers(flags: readonly Flag[], given: readonly string[]): Offer[] {
  const isOpen = (flag: Flag) => {
    const isRepeatable = flag.type === 'option' && flag.multiple
    return !flag.hidden && (isRepeatable || !given.some((word) => flagNamed([flag], word.replace(/^--no-/, '--'))))
  }
  return flags.filter(isOpen).flatMap((flag): Offer[] => {
    const offer = { value: `--${flag.name}`, about: flag.summary ?? flag.description }
    const isSwitch = flag.type === 'boolean' && flag.allowNo
    return isSwitch ? [offer, { ...offer, value: `--no-${flag.name}` }] : [offer]
  })
}

async function valuesOf(
  command: Command.Loadable,
  flag: Extract<Flag, { type: 'option' }>,
  words: readonly string[],
  current: string,
): Promise<Offer[]> {
  // In a comma-separated list, keep the earlier values and complete the last one.
  const done = flag.delimiter ? current.slice(0, current.lastIndexOf(',') + 1) : ''
  const offers = flag.options?.map((value) => ({ value })) ?? (await named(command, 'flags', flag.name, words))
  return starting(
    offers.map((offer) => ({ ...offer, value: done + offer.value })),
    current,
  )
}

async function argumentOffers(command: Command.Loadable, position: number, words: readonly string[]): Promise<Offer[]> {
  const args = Object.values(command.args)
  const arg = args[position] ?? (args.at(-1)?.multiple ? args.at(-1) : undefined)
  if (!arg) return []
  return arg.options?.map((value) => ({ value })) ?? named(command, 'args', arg.name, words)
}

/** Counts the arguments: words that are neither flags nor values of flags. */
function positionOf(flags: readonly Flag[], words: readonly string[]): number {
  const isValue = (index: number) => index > 0 && flagNamed(flags, words[index - 1]!)?.type === 'option'
  return words.filter((word, index) => !word.startsWith('-') && !isValue(index)).length
}

async function named(command: Command.Loadable, inputs: 'args' | 'flags', name: string, words: readonly string[]) {
  if (name === 'profile' || (inputs === 'args' && command.id.startsWith('profile:'))) return profileNames()
  const loaded = await command.load()
  const input = (loaded[inputs] as Interfaces.FlagInput | undefined)?.[name]
  const kind = input && namedKindOf(input)
  if (!kind) return []
  const flagValue = (flag: string) => words[words.lastIndexOf(`--${flag}`) + 1]
  const given = ['url', 'token', 'profile'].filter((flag) => words.includes(`--${flag}`))
  return serverNames(kind, Object.fromEntries(given.map((flag) => [flag, flagValue(flag)])))
}

function starting(offers: readonly Offer[], current: string): Offer[] {
  return offers.filter(({ value }) => value.startsWith(current))
}

interface Offer {
  value: string
  about?: string | undefined
}

/** The maximum age of cached names that are offered without a request. It is short, so that new rows appear soon. */
const FRESH_MS = 30_000

/** The maximum age of cached names that are offered while the server is unreachable. */
const KEPT_MS = 24 * 3_600_000

/** The timeout of the request to the server. It is short, because the user waits at the prompt. */
const TIMEOUT_MS = 400

function profileNames(): Offer[] {
  const { path } = profileInUse()
  return Object.entries(readProfiles(path).profiles).map(([value, { url }]) => ({ value, about: url }))
}

/** Returns the keys or names of all rows of a kind. Caches them in a file that only its owner can read. */
async function serverNames(kind: NamedKind, flags: ConnectionFlags): Promise<Offer[]> {
  const { url, token } = resolveConnection(flags)
  if (!token) return []
  const folder = completionFolder()
  const whose = createHash('sha256').update(`${url.value}\n${token.value}`).digest('hex').slice(0, 32)
  const path = join(folder, `${whose}-${kind}.json`)
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0)
  if (age < FRESH_MS) return JSON.parse(readFileSync(path, 'utf8'))
  const offers = await ask(kind, url.value, token.value)
  if (!offers) return age < KEPT_MS ? JSON.parse(readFileSync(path, 'utf8')) : []
  makePrivateFolder(folder)
  removeOld(folder)
  replacePrivateSync(path, JSON.stringify(offers))
  return offers
}

/** Requests the offers from the server. Returns `undefined` after a timeout or an error. */
async function ask(kind: NamedKind, url: string, token: string): Promise<Offer[] | undefined> {
  const client = createClient({ url, token, attempts: 1 })
  const late = new AbortController()
  const read = async () => {
    const offers: Offer[] = []
    for await (const { key, names } of listCandidates(kind, client, late.signal)) {
      const [name = ''] = names
      // Skip names with control characters, which cannot be typed.
      if (!/\p{Cc}/u.test(name)) offers.push(key ? { value: key, about: name } : { value: name })
    }
    return offers
  }
  try {
    return await Promise.race([read(), sleep(TIMEOUT_MS, undefined, { ref: false })])
  } catch {
    // Ignore the error: the command itself will report it.
    return undefined
  } finally {
    late.abort()
    await client.close()
  }
}

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const { mtimeMs } = statSync(join(folder, name))
    if (Date.now() - mtimeMs > KEPT_MS) rmSync(join(folder, name), { force: true })
  }
}
