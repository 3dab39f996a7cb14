import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, parse } from 'node:path'
import { DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS } from '../../client/errors.ts'
import { isOpenToOthers } from '../../files/private-file.ts'
import { UsageError } from '../command/errors.ts'
import { currentProfile, findProfile, readProfiles, requireProfile } from './profile.ts'

/** The one reader of the environment in the command line. Flags win over environment, environment over profile. */

export const defaultUrl = 'http://127.0.0.1:3000'

/** A value and where it came from, in words that fit after "came from". */
export interface Setting {
  value: string
  source: string
}

/** The flags that say which server, with which token. */
export interface ConnectionFlags {
  url?: string | undefined
  token?: string | undefined
  profile?: string | undefined
  timeout?: string | undefined
}

/** The server, token and time limit of a command, each with where it came from. */
export interface Connection {
  url: Setting
  /** Undefined where there is none; `noToken` then says why. */
  token: Setting | undefined
  noToken: string
  profile: { name: string; path: string }
  timeoutSeconds: number
  /** What is to be said of a stored token that is used: others may read it. */
  warning?: string
}

/** Environment variables by name, as process.env has them. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where settings are looked for beside the flags. */
export interface ResolveOptions {
  environment?: Environment
  /** Set by what makes or manages profiles. */
  profileMayBeMissing?: boolean
}

/**
 * Which server to talk to with which token.
 * @throws UsageError for an empty value, an address or a time limit that is none, or a named profile that is not there.
 */
export function resolveConnection(flags: ConnectionFlags, options: ResolveOptions = {}): Connection {
  const environment = options.environment ?? process.env
  const named = pick(flags.profile, '--profile', environment.PASSES_PROFILE, 'PASSES_PROFILE')?.value
  const path = profilesPath(environment)
  const chosenUrl = pick(flags.url, '--url', environment.PASSES_URL, 'PASSES_URL')
  let token = pick(flags.token, '--token', environment.PASSES_TOKEN, 'PASSES_TOKEN')
  // Where nothing is open, a file that is broken is in nobody's way.
  const isRead = named || !chosenUrl || !token || options.profileMayBeMissing
  const file = isRead ? readProfiles(path) : { profiles: {} }
  const name = named ?? currentProfile(file)
  const isNamed = (named ?? file.current) !== undefined
  const profile = isNamed && !options.profileMayBeMissing ? requireProfile(file, path, name) : findProfile(file, name)
  const source = `profile ${name} (${path})`
  const url: Setting = chosenUrl ?? {
    value: profile?.url ?? defaultUrl,
    source: profile ? source : 'the default',
  }
  const origin = originOf(url)
  let warning: string | undefined
  let noToken = 'There is no access token: no --token, no PASSES_TOKEN, and no profile.'
  if (!token && profile) {
    // A stored token belongs to its server: it is never sent to another one.
    if (profile.url !== origin) {
      noToken = `There is no access token for ${origin}: the one of ${source} belongs to ${profile.url}.`
    } else if (profile.token === undefined) noToken = `There is no access token: ${source} is logged out.`
    else {
      token = { value: profile.token, source }
      if (isOpenToOthers(path))
        warning = `Warning: other users of this machine may read ${path}. Try: chmod 600 ${path}`
    }
  }
  const timeoutSeconds = secondsOf(pick(flags.timeout, '--timeout', environment.PASSES_TIMEOUT, 'PASSES_TIMEOUT'))
  return {
    url: { ...url, value: origin },
    token,
    noToken,
    profile: { name, path },
    timeoutSeconds,
    ...(warning && { warning }),
  }
}

function secondsOf(said: Setting | undefined): number {
  if (!said) return DEFAULT_TIMEOUT_SECONDS
  const seconds = Number(said.value)
  if (seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS) return seconds
  throw new UsageError(`${said.source} must be seconds, more than 0 and at most ${MAX_TIMEOUT_SECONDS}: ${said.value}`)
}

/** The profile that commands use, there or not, and the file of profiles. */
export function profileInUse(flag?: string): Connection['profile'] {
  return resolveConnection({ profile: flag }, { profileMayBeMissing: true }).profile
}

/** Variables that win over a stored profile, so that login can say so. */
export function overridingVariables(environment: Environment = process.env): string[] {
  return ['PASSES_URL', 'PASSES_TOKEN', 'PASSES_PROFILE'].filter((name) => given(environment[name]))
}

/** A signing secret; the variable keeps it out of the list of processes. */
export function webhookSecret(flag: string | undefined, environment: Environment = process.env): string | undefined {
  return flag || environment.PASSES_WEBHOOK_SECRET || undefined
}

/** Whether colour may be written to a stream: to a terminal that shows any, unless the environment forbids it. */
export function canColor(stream: ColorStream, environment: Environment = process.env): boolean {
  return colorLevel(stream, environment) > 0
}

/** Bits of colour that a terminal takes: 1 is none that a picture can be drawn in, 8 are 256 colours. */
export function colorDepth(stream: ColorStream, environment: Environment = process.env): 1 | 8 | 24 {
  return ([1, 1, 8, 24] as const)[colorLevel(stream, environment)]
}

interface ColorStream {
  isTTY?: boolean
  /** As Node's terminals answer it; the environment tells it what the terminal is. */
  getColorDepth?: (environment: object) => number
}

/**
 * What a stream shows: 0 no colour, 1 sixteen, 2 of 256, 3 of 16 million. FORCE_COLOR decides alone where it is set;
 * else NO_COLOR and TERM=dumb forbid colour, and only a terminal gets any.
 */
function colorLevel(stream: ColorStream, environment: Environment): 0 | 1 | 2 | 3 {
  const forced = environment.FORCE_COLOR
  if (forced !== undefined) {
    if (forced === 'false') return 0
    const level = Number.parseInt(forced, 10)
    return level === 0 || level === 2 || level === 3 ? level : 1
  }
  if (!canAnimate(stream, environment) || given(environment.NO_COLOR)) return 0
  // Node takes CI for a log without colour, and this is a terminal.
  const { CI: _, ...terminal } = environment
  const depth = stream.getColorDepth?.(terminal) ?? 4
  return depth >= 24 ? 3 : depth >= 8 ? 2 : depth >= 4 ? 1 : 0
}

/** The environment for a program that must stand alone: nothing that is said to this one reaches it. */
export function environmentWithoutSettings(environment: Environment = process.env): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('PASSES_')))
}

/** The environment of this program with something added, for a command of the user. */
export function environmentWith(added: Environment, environment: Environment = process.env): Environment {
  return { ...environment, ...added }
}

/** Whether a stream can redraw a line. */
export function canAnimate(stream: { isTTY?: boolean }, environment: Environment = process.env): boolean {
  return stream.isTTY === true && environment.TERM !== 'dumb'
}

/** Where virtual phones keep their state. */
export function devicesFolder(environment: Environment = process.env): string {
  return join(baseFolder(environment, 'XDG_DATA_HOME', '.local/share'), 'passes', 'devices')
}

/** Where completion keeps what the server answered. */
export function completionFolder(environment: Environment = process.env): string {
  return join(baseFolder(environment, 'XDG_CACHE_HOME', '.cache'), 'passes', 'completion')
}

/** Where `webhook listen` of a profile says how it is reached on this machine. */
export function listenersFolder(profile: string, environment: Environment = process.env): string {
  const state = baseFolder(environment, 'XDG_STATE_HOME', '.local/state')
  return join(state, 'passes', 'listeners', encodeURIComponent(profile))
}

/** Where the door console keeps lists to go on with offline, and decisions that the server has not got yet. */
export function doorsFolder(environment: Environment = process.env): string {
  return join(baseFolder(environment, 'XDG_STATE_HOME', '.local/state'), 'passes', 'doors')
}

/**
 * Ink is told by the environment how to draw, when it is loaded: React for development keeps a record of every render,
 * and where CI is set Ink draws nothing until its end. On a terminal neither is wanted. What it colours with takes a
 * variable CI for a terminal without colour, whatever its value, so the level is said outright: one at least, since bold
 * and inverse stand in where colour is not wanted.
 */
export function prepareDrawing(stream: ColorStream, environment: NodeJS.ProcessEnv = process.env): void {
  environment.FORCE_COLOR = String(Math.max(1, colorLevel(stream, environment)))
  environment.NODE_ENV ??= 'production'
  environment.CI = 'false'
  environment.CONTINUOUS_INTEGRATION = 'false'
}

function profilesPath(environment: Environment): string {
  return join(baseFolder(environment, 'XDG_CONFIG_HOME', '.config'), 'passes', 'profiles.json')
}

/** A folder of the XDG base directories, which says that a relative path in its variable is to be ignored. */
function baseFolder(environment: Environment, variable: string, belowHome: string): string {
  const said = given(environment[variable])
  return said && isAbsolute(said) ? said : join(homeFolder(environment), belowHome)
}

/** Never a folder below the one that the program happens to run in: a token would be left there. */
function homeFolder({ HOME }: Environment): string {
  for (const find of [() => HOME, homedir, () => userInfo().homedir]) {
    try {
      const home = find()
      if (home && isAbsolute(home)) return home
    } catch {
      // A container may run as a user that the system does not know.
    }
  }
  return parse(process.cwd()).root
}

/** An empty value most likely is a secret that was not filled in: what is stored must not take its place unseen. */
function pick(flag: string | undefined, flagName: string, variable: string | undefined, name: string) {
  const [text, source] = flag === undefined ? [variable, name] : [flag, flagName]
  if (text === undefined) return undefined
  const value = given(text)
  if (!value)
    throw new UsageError(`${source} is empty`, { hint: `give ${source} a value, or leave it out altogether.` })
  return { value, source }
}

/**
 * Looks at the variables that stand for switches: oclif takes whatever it does not know for no.
 * @throws UsageError
 */
export function requireClearSwitches(
  flags: Readonly<Record<string, { type: string; env?: string }>>,
  environment: Environment = process.env,
): void {
  for (const { type, env } of Object.values(flags)) {
    const value = type === 'boolean' && env ? environment[env] : undefined
    if (value && !/^(1|true|yes|y|0|false|no|n)$/i.test(value)) {
      throw new UsageError(`${env} must be true or false, and is "${value}"`)
    }
  }
}

/** The variables that are called as settings are. */
export function ownVariables(environment: Environment = process.env): string[] {
  return Object.keys(environment).filter((name) => name.startsWith('PASSES_'))
}

/** Whether a variable says anything. */
export function isSet(variable: string, environment: Environment = process.env): boolean {
  return given(environment[variable]) !== undefined
}

/** A variable of the system that is empty counts as not given. */
function given(value: string | undefined): string | undefined {
  return value?.trim() || undefined
}

function originOf({ value, source }: Setting): string {
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.pathname !== '/') {
    throw new UsageError(`The server address ${value} (from ${source}) must look like ${defaultUrl}`)
  }
  return url.origin
}
