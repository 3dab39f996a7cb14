import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { afterAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  chooseProfile,
  forgetToken,
  readProfiles,
  removeProfile,
  writeProfile,
} from '../../../src/cli/settings/profile.ts'
import {
  type ConnectionFlags,
  canAnimate,
  canColor,
  colorDepth,
  devicesFolder,
  doorsFolder,
  type Environment,
  environmentWithoutSettings,
  prepareDrawing,
  requireClearSwitches,
  resolveConnection,
} from '../../../src/cli/settings/settings.ts'

const root = mkdtempSync(join(tmpdir(), 'passes-settings-'))
afterAll(() => rmSync(root, { recursive: true }))

let home: string
let path: string
beforeEach(() => {
  home = mkdtempSync(join(root, 'home-'))
  path = join(home, 'passes', 'profiles.json')
})

const resolve = (flags: ConnectionFlags, environment: Environment = {}) =>
  resolveConnection(flags, { environment: { XDG_CONFIG_HOME: home, ...environment } })

test('flags override the environment, which overrides the profile, and each value has its source', async () => {
  await writeProfile(path, 'default', { url: 'https://profile.example', token: 'profile-token' })
  const environment = { PASSES_URL: 'https://environment.example/', PASSES_TOKEN: 'environment-token' }
  expect(resolve({ url: 'https://flag.example', token: 'flag-token' }, environment)).toMatchObject({
    url: { value: 'https://flag.example', source: '--url' },
    token: { value: 'flag-token', source: '--token' },
  })
  expect(resolve({}, environment)).toMatchObject({
    url: { value: 'https://environment.example', source: 'PASSES_URL' },
    token: { value: 'environment-token', source: 'PASSES_TOKEN' },
  })
  expect(resolve({})).toMatchObject({
    url: { value: 'https://profile.example', source: `profile default (${path})` },
    token: { value: 'profile-token', source: `profile default (${path})` },
  })
})

test('without settings, the server is the local one', () => {
  expect(resolve({})).toMatchObject({
    url: { value: 'http://127.0.0.1:3000', source: 'the default' },
    token: undefined,
  })
})

test.each<[source: string, flags: ConnectionFlags, environment: Environment]>([
  ['--token', { token: '' }, { PASSES_TOKEN: 'environment-token' }],
  ['--url', { url: ' ' }, {}],
  ['--profile', { profile: '' }, {}],
  ['PASSES_TOKEN', {}, { PASSES_TOKEN: '' }],
  ['PASSES_URL', {}, { PASSES_URL: '' }],
  ['PASSES_PROFILE', {}, { PASSES_PROFILE: '' }],
])('an empty %s is an error and does not fall back to the stored value', async (source, flags, environment) => {
  await writeProfile(path, 'default', { url: 'https://profile.example', token: 'profile-token' })
  expect(() => resolve(flags, environment)).toThrow(`${source} is empty`)
})

test('sends a stored token only to its own server', async () => {
  await writeProfile(path, 'default', { url: 'https://profile.example', token: 'profile-token' })
  const connection = resolve({ url: 'https://elsewhere.example' })
  expect(connection.token).toBeUndefined()
  expect(connection.noToken).toContain('belongs to https://profile.example')
})

test('PASSES_PROFILE and --profile select a profile, and an unknown one is an error', async () => {
  await writeProfile(path, 'default', { url: 'https://one.example', token: 'one' })
  await writeProfile(path, 'two', { url: 'https://two.example', token: 'two' })
  expect(resolve({}, { PASSES_PROFILE: 'two' }).token?.value).toBe('two')
  expect(resolve({ profile: 'default' }, { PASSES_PROFILE: 'two' }).token?.value).toBe('one')
  expect(() => resolve({ profile: 'three' })).toThrow('Profile three not found')
})

test.each<[string, Environment]>([
  ['without HOME', {}],
  ['with an empty HOME', { HOME: '' }],
  ['with a relative HOME', { HOME: 'home' }],
  ['with relative XDG folders', { XDG_CONFIG_HOME: 'c', XDG_DATA_HOME: './d', XDG_STATE_HOME: '../s' }],
])('%s stores nothing below the working directory', (_, environment) => {
  // Use the system's data of the user, and not the environment of this process.
  vi.stubEnv('HOME', environment.HOME)
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  const paths = [
    resolveConnection({ url: 'https://one.example', token: 'one' }, { environment }).profile.path,
    devicesFolder(environment),
    doorsFolder(environment),
  ]
  for (const path of paths) {
    expect(isAbsolute(path)).toBe(true)
    expect(path.startsWith(process.cwd())).toBe(false)
  }
})

test('profiles, phones, and doors are stored in HOME, or in absolute XDG folders if set', () => {
  const environment = { HOME: '/home/ada', XDG_STATE_HOME: '/state' }
  expect(resolveConnection({ url: 'https://one.example', token: 'one' }, { environment }).profile.path).toBe(
    '/home/ada/.config/passes/profiles.json',
  )
  expect(devicesFolder(environment)).toBe('/home/ada/.local/share/passes/devices')
  expect(doorsFolder(environment)).toBe('/state/passes/doors')
})

test.each(['localhost:3000', 'ftp://passes.example', 'https://passes.example/base', 'nonsense'])(
  'rejects the address %s and names its source',
  (url) => {
    expect(() => resolve({}, { PASSES_URL: url })).toThrow('from PASSES_URL')
  },
)

test('only the owner can read profiles, and no temporary file remains', async () => {
  await writeProfile(path, 'default', { url: 'https://one.example', token: 'one' })
  chmodSync(path, 0o644)
  await writeProfile(path, 'two', { url: 'https://two.example', token: 'two' })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700)
  expect(readdirSync(dirname(path))).toEqual(['profiles.json'])
  expect(Object.keys(readProfiles(path).profiles)).toEqual(['default', 'two'])
})

test('uses the first profile, else the chosen one; a flag or variable takes precedence', async () => {
  await writeProfile(path, 'one', { url: 'https://one.example', token: 'one' })
  await writeProfile(path, 'two', { url: 'https://two.example', token: 'two' })
  expect(resolve({}).token?.value).toBe('one')
  await chooseProfile(path, 'two')
  expect(resolve({}).token?.value).toBe('two')
  expect(resolve({}, { PASSES_PROFILE: 'one' }).token?.value).toBe('one')
  await removeProfile(path, 'two')
  expect(resolve({}).token).toBeUndefined()
  expect(resolve({ profile: 'one' }).token?.value).toBe('one')
})

test('a profile that is logged out keeps its server and no token, in a file of its owner', async () => {
  await writeProfile(path, 'default', { url: 'https://one.example', token: 'one' })
  chmodSync(path, 0o644)
  await forgetToken(path, 'default')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readFileSync(path, 'utf8')).not.toContain('token')
  expect(resolve({})).toMatchObject({
    url: { value: 'https://one.example' },
    noToken: expect.stringContaining('is logged out'),
  })
})

test.each(['constructor', '__proto__'])('%s is not a profile until one is stored under this name', async (name) => {
  expect(() => resolve({ profile: name })).toThrow(`Profile ${name} not found`)
  await expect(chooseProfile(path, name)).rejects.toThrow(`Profile ${name} not found`)
})

test('rejects __proto__ as the name of a new profile', () => {
  const resolveNew = () => resolveConnection({ profile: '__proto__' }, { profileMayBeMissing: true })
  expect(resolveNew).toThrow('__proto__ is not allowed as the name of a profile')
})

test('warns when a stored token that other users can read is used', async () => {
  await writeProfile(path, 'default', { url: 'https://one.example', token: 'one' })
  expect(resolve({}).warning).toBeUndefined()
  chmodSync(path, 0o640)
  expect(resolve({}).warning).toContain(`chmod 600 ${path}`)
  expect(resolve({ token: 'another' }).warning).toBeUndefined()
})

test('a broken file of profiles is an error and is not overwritten', async () => {
  await writeProfile(path, 'default', { url: 'https://one.example', token: 'one' })
  writeFileSync(path, '{"profiles"')
  await expect(writeProfile(path, 'two', { url: 'https://two.example', token: 'two' })).rejects.toThrow(
    'not a file of profiles',
  )
})

test('the timeout is from the flag, else from PASSES_TIMEOUT, else 30 s', () => {
  const seconds = (timeout: string | undefined, environment: Environment) => resolve({ timeout }, environment)
  expect(seconds('1.5', { PASSES_TIMEOUT: '7' }).timeoutSeconds).toBe(1.5)
  expect(seconds(undefined, { PASSES_TIMEOUT: '7' }).timeoutSeconds).toBe(7)
  expect(seconds(undefined, {}).timeoutSeconds).toBe(30)
})

test.each(['0', '-1', '30s', '3601', 'Infinity', ''])('rejects the time limit "%s" and names its source', (text) => {
  expect(() => resolve({ timeout: text }, {})).toThrow('--timeout')
  expect(() => resolve({}, { PASSES_TIMEOUT: text })).toThrow('PASSES_TIMEOUT')
})

test('a broken profiles file has no effect if flags set all values', async () => {
  await writeProfile(path, 'default', { url: 'https://one.example', token: 'one' })
  writeFileSync(path, '{"profiles"')
  expect(resolve({ url: 'https://two.example', token: 'two' }).token?.value).toBe('two')
  expect(() => resolve({ url: 'https://two.example' })).toThrow('not a file of profiles')
  expect(() => resolve({ url: 'https://two.example', token: 'two', profile: 'default' })).toThrow('not a file')
})

test('only terminals get color and motion; NO_COLOR disables color, and TERM=dumb both', () => {
  const terminal = { isTTY: true }
  expect([canColor(terminal, {}), canAnimate(terminal, {})]).toEqual([true, true])
  expect([canColor(terminal, { NO_COLOR: '1' }), canAnimate(terminal, { NO_COLOR: '1' })]).toEqual([false, true])
  expect([canColor(terminal, { TERM: 'dumb' }), canAnimate(terminal, { TERM: 'dumb' })]).toEqual([false, false])
  expect([canColor({}, {}), canAnimate({}, {})]).toEqual([false, false])
})

test('a terminal gets its supported colors, and none if color is disabled', () => {
  const terminal = (depth: number) => ({ isTTY: true, getColorDepth: () => depth })
  expect([1, 4, 8, 24].map((depth) => colorDepth(terminal(depth), {}))).toEqual([1, 1, 8, 24])
  expect(colorDepth(terminal(24), { NO_COLOR: '1' })).toBe(1)
  expect(colorDepth({ ...terminal(24), isTTY: false }, {})).toBe(1)
})

test.each([
  ['0', false, 1],
  ['false', false, 1],
  ['', true, 1],
  ['1', true, 1],
  ['true', true, 1],
  ['2', true, 8],
  ['3', true, 24],
])('FORCE_COLOR=%s overrides all else: color %j, %i bits', (forced, isColored, depth) => {
  const streams = [{ isTTY: true, getColorDepth: () => 8 }, {}]
  for (const environment of [{}, { NO_COLOR: '1' }, { TERM: 'dumb' }].map((rest) => ({
    ...rest,
    FORCE_COLOR: forced,
  }))) {
    for (const stream of streams) {
      expect([canColor(stream, environment), colorDepth(stream, environment)]).toEqual([isColored, depth])
    }
  }
})

test.each([
  [4, {}, '1'],
  [8, {}, '2'],
  [24, {}, '3'],
  [24, { FORCE_COLOR: '2' }, '2'],
  // Bold and inverse are not colors. Without colors, only they distinguish accepted from denied.
  [24, { NO_COLOR: '1' }, '1'],
  [24, { FORCE_COLOR: '0' }, '1'],
])('on a terminal of %i bits with %j, Ink uses color level %s', (depth, given, level) => {
  const environment: NodeJS.ProcessEnv = { ...given }
  prepareDrawing({ isTTY: true, getColorDepth: () => depth }, environment)
  expect(environment).toMatchObject({ FORCE_COLOR: level, CI: 'false' })
})

test.each(['1', 'true', 'YES', 'y', '0', 'False', 'no', 'n', ''])('"%s" is a valid value of a switch', (text) => {
  const flags = { production: { type: 'boolean', env: 'SWITCH' }, other: { type: 'option', env: 'OTHER' } }
  expect(() => requireClearSwitches(flags, { SWITCH: text, OTHER: 'on' })).not.toThrow()
})

test.each(['on', 'maybe', 'yes please'])('rejects "%s" as the value of a switch', (text) => {
  const flags = { production: { type: 'boolean', env: 'SWITCH' } }
  expect(() => requireClearSwitches(flags, { SWITCH: text })).toThrow('SWITCH must be true or false')
})

test('other programs receive no settings of this one', () => {
  expect(environmentWithoutSettings({ PATH: '/bin', PASSES_URL: 'https://passes.example' })).toEqual({ PATH: '/bin' })
})
