import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '../../core/json.ts'
import { underLock } from '../../files/file-lock.ts'
import { ifMissing, replacePrivateSync } from '../../files/private-file.ts'
import { CliError, UsageError } from '../command/cli-error.ts'

const ProfilesFile = z.strictObject({
  /** The name of the default profile; `default` if not set. */
  current: z.string().optional(),
  profiles: z.record(
    z.string(),
    z.strictObject({
      /** The server that the token belongs to, as an origin such as https://passes.example. */
      url: z.string(),
      /** The token; `undefined` after a logout. */
      token: z.string().optional(),
    }),
  ),
})
type ProfilesFile = z.output<typeof ProfilesFile>
type Profile = ProfilesFile['profiles'][string]

/** Reads the stored profiles; none if the file does not exist. */
export function readProfiles(path: string): ProfilesFile {
  let text: string | undefined
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    return ifMissing({ profiles: {} })(error)
  }
  const { data } = ProfilesFile.safeParse(parseJson(text))
  if (data) return data
  throw new CliError(`${path} is not a file of profiles`, { hint: 'fix or delete it, then run "passes login".' })
}

export function findProfile({ profiles }: ProfilesFile, name: string): Profile | undefined {
  return Object.hasOwn(profiles, name) ? profiles[name] : undefined
}

export function currentProfile({ current = 'default' }: ProfilesFile): string {
  return current
}

/** Stores a profile. The first one becomes the default profile. */
export function writeProfile(path: string, name: string, profile: Profile): Promise<void> {
  return changeProfiles(path, (file) => {
    const isFirst = Object.keys(file.profiles).length === 0
    return { ...file, ...(isFirst && { current: name }), profiles: { ...file.profiles, [name]: profile } }
  })
}

/** Sets the default profile. @throws UsageError if it does not exist */
export function chooseProfile(path: string, name: string): Promise<void> {
  return changeProfiles(path, (file) => {
    requireProfile(file, path, name)
    return { ...file, current: name }
  })
}

/** @throws UsageError if the profile does not exist */
export function removeProfile(path: string, name: string): Promise<void> {
  return changeProfiles(path, (file) => {
    requireProfile(file, path, name)
    const { current, ...rest } = file
    const profiles = Object.fromEntries(Object.entries(file.profiles).filter(([other]) => other !== name))
    return { ...rest, ...(current !== undefined && current !== name && { current }), profiles }
  })
}

/** Removes the token of a profile and keeps its address. @throws UsageError if the profile does not exist */
export function forgetToken(path: string, name: string): Promise<void> {
  return changeProfiles(path, (file) => {
    const { url } = requireProfile(file, path, name)
    return { ...file, profiles: { ...file.profiles, [name]: { url } } }
  })
}

/** @throws UsageError that lists the existing profiles, if the profile does not exist */
export function requireProfile(file: ProfilesFile, path: string, name: string): Profile {
  const profile = findProfile(file, name)
  if (profile) return profile
  const names = Object.keys(file.profiles)
  const others = names.length > 0 ? `there are ${names.join(', ')}; ` : ''
  throw new UsageError(`Profile ${name} not found in ${path}`, {
    hint: `${others}to create it, run "passes login --profile ${name}".`,
  })
}

/** Replaces the file atomically, so that a crash leaves either the old file or the new file. */
function changeProfiles(path: string, change: (file: ProfilesFile) => ProfilesFile): Promise<void> {
  return underLock(path, () => {
    replacePrivateSync(path, `${JSON.stringify(change(readProfiles(path)), undefined, 2)}\n`)
  })
}
