import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { CliError } from './errors.ts'

const Profile = z.strictObject({
  /** The server that the token belongs to, as an origin such as https://passes.example. */
  url: z.string(),
  token: z.string(),
})
export type Profile = z.output<typeof Profile>

const ProfilesFile = z.strictObject({ profiles: z.record(z.string(), Profile) })

export type Profiles = Readonly<Record<string, Profile>>

/** The stored profiles by name; none where there is no file. */
export function readProfiles(path: string): Profiles {
  const text = readIfThere(path)
  if (text === undefined) return {}
  const file = ProfilesFile.safeParse(parseJson(text))
  if (!file.success) {
    throw new CliError(`${path} is not a file of profiles`, { hint: 'Mend or delete it, then run passes login.' })
  }
  return file.data.profiles
}

/** True where the tokens can be read by other users of the machine; on Windows the mode of a file says nothing of that. */
export function isOpenToOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
}

/** Stores one profile beside the others. The file is replaced as a whole, so a crash leaves the old or the new one. */
export function writeProfile(path: string, name: string, profile: Profile): void {
  const profiles = { ...readProfiles(path), [name]: profile }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  const descriptor = openSync(temporary, 'wx', 0o600)
  try {
    writeSync(descriptor, `${JSON.stringify({ profiles }, undefined, 2)}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(temporary, path)
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
