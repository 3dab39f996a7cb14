import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, parse } from 'node:path'
import { DEFAULT_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS } from '../../client/client-errors.ts'
import { isOpenToOthers } from '../../files/private-file.ts'
import { UsageError } from '../command/cli-error.ts'
import { currentProfile, findProfile, readProfiles, requireProfile } from './profile.ts'

/**
 * The only module of the CLI that reads the environment. Flags override environment variables, which override the
 * profile.
 */

export const defaultUrl = 'http://127.0.0.1:3000'

/** A value and its source, in words that fit after "came from". */
export interface Setting {
  value: string
  source: string
}

export interface ConnectionFlags {
  url?: string | undefined
  token?: string | undefined
  profile?: string | undefined
  timeout?: string | undefined
}

export interface Connection {
  url: Setting
  /** The token; if `undefined`, `noToken` explains why. */
  token: Setting | undefined
  noToken: string
  profile: { name: string; path: string }
  timeoutSeconds: number
  warning?: string
}

export type Environment = Readonly<Record<string, string | undefined>>

export interface ResolveOptions {
  environment?: Environment
  /** Whether the profile can be missing. Set by commands that create or manage profiles. */
  profileMayBeMissing?: boolean
}

/**
 * Selects the server and the token.
 * @throws UsageError for an empty value, an invalid address or timeout, or a named profile that does not exist
 */
export function resolveConnection(flags: ConnectionFlags, options: ResolveOptions = {}): Connection {
  const environment = options.environment ?? process.env
  const named = pick(flags.profile, '--profile', environment.PASSES_PROFILE, 'PASSES_PROFILE')?.value
  const path = profilesPath(environment)
  const chosenUrl = pick(flags.url, '--url', environment.PASSES_URL, 'PASSES_URL')
  let token = pick(flags.token, '--token', environment.PASSES_TOKEN, 'PASSES_TOKEN')
  // Read the file only if it is needed, so that a broken file does not stop a command whose values are all given.
  const isRead = named || !chosenUrl || !token || options.profileMayBeMissing
  const file = isRead ? readProfiles(path) : { profiles: {} }
  const name = named ?? currentProfile(file)
  const isNamed = (named ?? file.current) !== undefined
  // Reject the name of a new profile that reading the file would silently drop.
  if (options.profileMayBeMissing && name === '__proto__') {
    throw new UsageError('__proto__ is not allowed as the name of a profile: use another name')
  }
  const profile = isNamed && !options.profileMayBeMissing ? requireProfile(file, path, name) : findProfile(file, name)
  const source = `profile ${name} (${path})`
  const url: Setting = chosenUrl ?? {
    value: profile?.url ?? defaultUrl,
    source: profile ? source : 'the default',
  }
  const origin = originOf(url)
  let warning: string | undefined
  let noToken = 'No access token: neither --token, nor PASSES_TOKEN, nor a profile sets one.'
  if (!token && profile) {
    // Never send a stored token to another server.
    if (profile.url !== origin) {
      noToken = `No access token for ${origin}: the token of ${source} belongs to ${profile.url}.`
    } else if (profile.token === undefined) noToken = `No access token: ${source} is logged out.`
    else {
      token = { value: profile.token, source }
      if (isOpenToOthers(path))
        warning = `Warning: other users of this machine can read ${path}. Try: chmod 600 ${path}`
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

function secondsOf(setting: Setting | undefined): number {
  if (!setting) return DEFAULT_TIMEOUT_SECONDS
  const seconds = Number(setting.value)
  if (seconds > 0 && seconds <= MAX_TIMEOUT_SECONDS) return seconds
  throw new UsageError(
    `${setting.source} must be seconds, more than 0 and at most ${MAX_TIMEOUT_SECONDS}: ${setting.value}`,
  )
}

/** Returns the selected profile, even if it does not exist, and the path of the profiles file. */
export function profileInUse(flag?: string): Connection['profile'] {
  return resolveConnection({ profile: flag }, { profileMayBeMissing: true }).profile
}

/** Returns the environment variables that are set and override a stored profile, for the message of `login`. */
export function overridingVariables(): string[] {
  return ['PASSES_URL', 'PASSES_TOKEN', 'PASSES_PROFILE'].filter(isSet)
}

/** Returns a signing secret from the flag or the variable. The variable keeps the secret out of the process list. */
export function webhookSecret(flag: string | undefined): string | undefined {
  return flag || process.env.PASSES_WEBHOOK_SECRET || undefined
}

export function canColor(stream: ColorStream, environment: Environment = process.env): boolean {
  return colorLevel(stream, environment) > 0
}

/** Returns the color depth of a terminal, in bits: 1 (too few colors for pictures), 8 (256 colors), or 24. */
export function colorDepth(stream: ColorStream, environment: Environment = process.env): 1 | 8 | 24 {
  return ([1, 1, 8, 24] as const)[colorLevel(stream, environment)]
}

interface ColorStream {
  isTTY?: boolean
  /** The method of Node's TTY streams, which reads the terminal type from the environment. */
  getColorDepth?: (environment: object) => number
}

/**
 * Returns the color level of a stream: 0 for none, 1 for 16 colors, 2 for 256, 3 for 16 million. FORCE_COLOR takes
 * precedence. Otherwise, the level is 0 with NO_COLOR or TERM=dumb, and outside a terminal.
 */
function colorLevel(stream: ColorStream, environment: Environment): 0 | 1 | 2 | 3 {
  const forced = environment.FORCE_COLOR
  if (forced !== undefined) {
    if (forced === 'false') return 0
    const level = Number.parseInt(forced, 10)
    return level === 0 || level === 2 || level === 3 ? level : 1
  }
  if (!canAnimate(stream, environment) || given(environment.NO_COLOR)) return 0
  // Hide the variable CI. Otherwise, Node would assume a log without color, although this stream is a terminal.
  const { CI: _, ...terminal } = environment
  const depth = stream.getColorDepth?.(terminal) ?? 4
  return depth >= 24 ? 3 : depth >= 8 ? 2 : depth >= 4 ? 1 : 0
}

export function environmentWithoutSettings(environment: Environment = process.env): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('PASSES_')))
}

export function environmentWith(added: Environment): Environment {
  return { ...process.env, ...added }
}

export function canAnimate(stream: { isTTY?: boolean }, environment: Environment = process.env): boolean {
  return stream.isTTY === true && environment.TERM !== 'dumb'
}

export function devicesFolder(environment: Environment = process.env): string {
  return join(baseFolder(environment, 'XDG_DATA_HOME', '.local/share'), 'passes', 'devices')
}

export function completionFolder(): string {
  return join(baseFolder(process.env, 'XDG_CACHE_HOME', '.cache'), 'passes', 'completion')
}

/** Returns the folder in which `webhook listen` of a profile records its local address. */
export function listenersFolder(profile: string): string {
  const state = baseFolder(process.env, 'XDG_STATE_HOME', '.local/state')
  return join(state, 'passes', 'listeners', encodeURIComponent(profile))
}

/** Returns the folder in which the door console stores offline lists and decisions that are not uploaded yet. */
export function doorsFolder(environment: Environment = process.env): string {
  return join(baseFolder(environment, 'XDG_STATE_HOME', '.local/state'), 'passes', 'doors')
}

/**
 * Sets the environment variables that Ink reads when it loads. Turns off React's development mode, which keeps a record
 * of every render. Hides CI, because in CI, Ink draws only when it ends. Ink's color library assumes no color if CI has
 * any value, so the color level is set explicitly. The level is at least 1, because level 0 would also turn off bold
 * and inverse text.
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

/** Returns a folder of the XDG Base Directory Specification, which requires that relative paths are ignored. */
function baseFolder(environment: Environment, variable: string, belowHome: string): string {
  const folder = given(environment[variable])
  return folder && isAbsolute(folder) ? folder : join(homeFolder(environment), belowHome)
}

/**
 * Returns the absolute path of the home folder. Skips a relative path. Otherwise, tokens would be written to the
 * working folder.
 */
function homeFolder({ HOME }: Environment): string {
  for (const find of [() => HOME, homedir, () => userInfo().homedir]) {
    try {
      const home = find()
      if (home && isAbsolute(home)) return home
    } catch {
      // Ignore the error: a container can run as a user that the system does not know.
    }
  }
  return parse(process.cwd()).root
}

/** Rejects an empty value, which is probably a missing secret. Otherwise, the stored value would be used silently. */
function pick(flag: string | undefined, flagName: string, variable: string | undefined, name: string) {
  const [text, source] = flag === undefined ? [variable, name] : [flag, flagName]
  if (text === undefined) return undefined
  const value = given(text)
  if (!value) throw new UsageError(`${source} is empty`, { hint: `give ${source} a value, or remove it.` })
  return { value, source }
}

/** Rejects unclear values of boolean environment variables, which oclif would treat as `false`. @throws UsageError */
export function requireClearSwitches(
  flags: Readonly<Record<string, { type: string; env?: string }>>,
  environment: Environment = process.env,
): void {
  for (const { type, env } of Object.values(flags)) {
    const value = type === 'boolean' && env ? environment[env] : undefined
    if (value && !/^(1|true|yes|y|0|false|no|n)$/i.test(value)) {
      throw new UsageError(`${env} must be true or false, not "${value}"`)
    }
  }
}

export function ownVariables(): string[] {
  return Object.keys(process.env).filter((name) => name.startsWith('PASSES_'))
}

export function isSet(variable: string): boolean {
  return given(process.env[variable]) !== undefined
}

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
