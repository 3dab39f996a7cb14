import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../client/client.ts'
import { makePrivateFolder, replacePrivateSync } from '../../files/private-file.ts'
import { listCandidates, type NamedKind } from '../arguments/named.ts'
import { readProfiles } from '../settings/profile.ts'
import { type ConnectionFlags, completionFolder, profileInUse, resolveConnection } from '../settings/settings.ts'

/** What a word may become, and a few words about it for shells that show them. */
export interface Offer {
  value: string
  about?: string | undefined
}

/** Whoever makes a template and then types its name finds it. */
const FRESH_MS = 30_000

/** Names that are older than so long are nobody's; while the server is away, younger ones are better than none. */
const KEPT_MS = 24 * 3_600_000

/** Somebody waits at the prompt, and the start of the program takes its part of a second. */
const PATIENCE_MS = 400

export function profileNames(): Offer[] {
  const { path } = profileInUse()
  return Object.entries(readProfiles(path).profiles).map(([value, { url }]) => ({ value, about: url }))
}

/** What the server has of a kind, by key or by name. Asked once in half a minute; the file of it is its owner's alone. */
export async function serverNames(kind: NamedKind, flags: ConnectionFlags): Promise<Offer[]> {
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

/** Undefined where the server does not answer in time. */
async function ask(kind: NamedKind, url: string, token: string): Promise<Offer[] | undefined> {
  const client = createClient({ url, token, attempts: 1 })
  const late = new AbortController()
  const read = async () => {
    const offers: Offer[] = []
    for await (const { key, names } of listCandidates(kind, client, late.signal)) {
      const [name = ''] = names
      // What cannot be typed cannot be completed.
      if (!/\p{Cc}/u.test(name)) offers.push(key ? { value: key, about: name } : { value: name })
    }
    return offers
  }
  try {
    return await Promise.race([read(), sleep(PATIENCE_MS, undefined, { ref: false })])
  } catch {
    // Whatever is wrong, the command that is being typed will say it.
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
