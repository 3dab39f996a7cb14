import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { z } from 'zod'
import { makePrivateFolder, replacePrivateSync } from '../../files/private-file.ts'
import { CliError } from '../command/errors.ts'

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

/** Stores one profile beside the others. The file is replaced as a whole, so a crash leaves the old or the new one. */
export function writeProfile(path: string, name: string, profile: Profile): void {
  const profiles = { ...readProfiles(path), [name]: profile }
  makePrivateFolder(dirname(path))
  replacePrivateSync(path, `${JSON.stringify({ profiles }, undefined, 2)}\n`)
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
