import { readFileSync } from 'node:fs'
import { isJsonObject, parseJson } from '../../core/json.ts'
import { underLock } from '../../files/file-lock.ts'
import { replacePrivateSync } from '../../files/private-file.ts'
import { CliError, UsageError } from '../command/errors.ts'

/** A server and the token for it, under a name. */
export interface Profile {
  /** The server that the token belongs to, as an origin such as https://passes.example. */
  url: string
  /** Missing after a logout. */
  token?: string | undefined
}

/** The file of profiles as it stands on the disk. */
export interface ProfilesFile {
  /** The profile that is used where none is named; `default` where nothing is said. */
  current?: string | undefined
  profiles: Record<string, Profile>
}

/** The stored profiles; none where there is no file. */
export function readProfiles(path: string): ProfilesFile {
  const text = readIfThere(path)
  if (text === undefined) return { profiles: {} }
  const file = parseJson(text)
  if (!isProfilesFile(file)) {
    throw new CliError(`${path} is not a file of profiles`, { hint: 'Mend or delete it, then run passes login.' })
  }
  return file
}

/** Without zod, which takes longer to load than a small request does: every command reads profiles. */
function isProfilesFile(value: unknown): value is ProfilesFile {
  return (
    hasOnly(value, { current: isTextOrMissing, profiles: isJsonObject }) &&
    Object.values(value.profiles as object).every((one) => hasOnly(one, { url: isText, token: isTextOrMissing }))
  )
}

function hasOnly(
  value: unknown,
  fields: Record<string, (value: unknown) => boolean>,
): value is Record<string, unknown> {
  return (
    isJsonObject(value) &&
    Object.keys(value).every((name) => Object.hasOwn(fields, name)) &&
    Object.entries(fields).every(([name, isRight]) => isRight(value[name]))
  )
}

const isText = (value: unknown) => typeof value === 'string'
const isTextOrMissing = (value: unknown) => value === undefined || isText(value)

/** The profile of a name; undefined where there is none. */
export function findProfile({ profiles }: ProfilesFile, name: string): Profile | undefined {
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined
}

/** The name of the profile that is used where none is named. */
export function currentProfile({ current = 'default' }: ProfilesFile): string {
  return current
}

/** Stores one profile beside the others. The first one is used from then on, whatever its name. */
export function writeProfile(path: string, name: string, profile: Profile): Promise<void> {
  return changeProfiles(path, (file) => {
    const isFirst = Object.keys(file.profiles).length === 0
    return { ...file, ...(isFirst && { current: name }), profiles: { ...file.profiles, [name]: profile } }
  })
}

/** Makes a profile the one that commands use. @throws UsageError where there is none of the name */
export function chooseProfile(path: string, name: string): Promise<void> {
  return changeProfiles(path, (file) => {
    requireProfile(file, path, name)
    return { ...file, current: name }
  })
}

/** Forgets a profile with its token. @throws UsageError where there is none of the name */
export function removeProfile(path: string, name: string): Promise<void> {
  return changeProfiles(path, (file) => {
    requireProfile(file, path, name)
    const { current, ...rest } = file
    const profiles = Object.fromEntries(Object.entries(file.profiles).filter(([other]) => other !== name))
    return { ...rest, ...(current !== undefined && current !== name && { current }), profiles }
  })
}

/** Forgets the token of a profile and keeps its address. @throws UsageError where there is no such profile */
export function forgetToken(path: string, name: string): Promise<void> {
  return changeProfiles(path, (file) => {
    const { url } = requireProfile(file, path, name)
    return { ...file, profiles: { ...file.profiles, [name]: { url } } }
  })
}

/**
 * The profile of a name.
 * @throws CliError that names those there are
 */
export function requireProfile(file: ProfilesFile, path: string, name: string): Profile {
  const profile = findProfile(file, name)
  if (profile) return profile
  const names = Object.keys(file.profiles)
  const others = names.length > 0 ? `there are ${names.join(', ')}; ` : ''
  throw new UsageError(`There is no profile ${name} in ${path}`, {
    hint: `${others}passes login --profile ${name} makes it.`,
  })
}

/** The file is replaced as a whole, so a crash leaves the old or the new one. */
function changeProfiles(path: string, change: (file: ProfilesFile) => ProfilesFile): Promise<void> {
  return underLock(path, () => {
    replacePrivateSync(path, `${JSON.stringify(change(readProfiles(path)), undefined, 2)}\n`)
  })
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
