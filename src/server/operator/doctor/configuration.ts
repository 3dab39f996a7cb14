import { existsSync, readdirSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { parseJson } from '../../../core/json.ts'
import { info } from '../../../core/openapi/document.ts'
import { fingerprint, parseServerKey } from '../../../core/rules/crypto/server-key.ts'
import { shellQuote } from '../../../core/shell-quote.ts'
import { isOpenToOthers } from '../../../files/private-file.ts'
import { sqliteFile } from '../../../storage/db/database.ts'
import type { Store } from '../../../storage/store.ts'
import { parseFaults } from '../../../wallets/sandbox/faults.ts'
import { assertKeyOf, findFingerprint, findServerKey } from '../../boot/server-key.ts'
import { sandboxedPlatforms } from '../../boot/wallets.ts'
import { type Config, sandboxFolder, serverKeyFile } from '../../config.ts'
import { loadBadges } from '../../pages/badges.ts'
import { setups } from '../../platforms/deliveries.ts'
import { type Check, type Examination, examine, type Finding, failed, passed, skipped } from './check.ts'
import type { ClockSkew } from './database-checks.ts'

export function checkConfiguration(config: Config): Promise<Check[]> {
  return examine('Configuration', {
    Platforms: {
      fix: 'give the credentials of the platform, or leave out the platform: passes serve --platforms apple',
      check() {
        const sandboxed = sandboxedPlatforms(config)
        const states = config.platforms.map((name) => `${name} ${sandboxed.includes(name) ? 'in the sandbox' : 'real'}`)
        return passed(states.join(', '))
      },
    },
    Settings: {
      fix: 'use valid values of --fault; to list them, run "passes serve --help"',
      check() {
        parseFaults(config.faults)
        if (config.isProduction && config.allowInsecureWebhooks) {
          return failed(
            'Webhooks can be sent to hosts of the local network. Use this setting only for development.',
            'leave out --allow-insecure-webhooks (PASSES_ALLOW_INSECURE_WEBHOOKS)',
          )
        }
        return passed(config.isProduction ? 'for production' : 'not marked as production (--production)')
      },
    },
    ...badgesExamination(config),
  })
}

/** Returns the check of the folder of badges, or no check without a folder, because badges are optional. */
function badgesExamination({ badgesFolder, platforms }: Config): Record<string, Examination<undefined>> {
  if (badgesFolder === undefined) return {}
  const check = () => {
    const badges = loadBadges(badgesFolder)
    const lacking = platforms.filter((platform) => !badges.find(platform, 'en')).map((name) => `${name}/en.svg`)
    const without = lacking.length > 0 ? `; ${lacking.join(' and ')} missing, so other languages get a text button` : ''
    return passed(`${badges.all.length} in ${badgesFolder}${without}`)
  }
  return { Badges: { fix: 'arrange the folder as docs/hosted-pages.md shows', check } }
}

/** Checks that the server key belongs to the database. @param store undefined if the database cannot be queried */
export function checkServerKey(config: Config, store: Store | undefined): Promise<Check[]> {
  return examine('Server key', {
    Fingerprint: {
      fix: 'give the key that the first server was started with: PASSES_SERVER_KEY, or the .key file next to the database',
      async check() {
        const text = await findServerKey(config)
        const known = store && (await findFingerprint(store))
        if (text === undefined) {
          return known
            ? failed('The key file of this database is missing.')
            : skipped('the server creates the key when it first starts')
        }
        const keys = { current: parseServerKey(text), previous: config.previousServerKeys.map(parseServerKey) }
        if (!known) return skipped('no server has used the database yet, or the database cannot be read')
        assertKeyOf(known, [keys.current, ...keys.previous])
        return passed(
          known === fingerprint(keys.current)
            ? 'matches the database'
            : 'a previous key matches: at its next start, a server changes the database to the current key',
        )
      },
    },
  })
}

/** Checks that other users of this machine cannot read the files of the server. */
export function checkFiles(config: Config): Promise<Check[]> {
  const database = sqliteFile(config.databaseUrl)
  const key = serverKeyFile(config)
  return examine('Files', {
    Database: {
      fix: 'check that this user can access the file',
      check: () => checkModes(database === undefined ? [] : ['', '-wal', '-shm'].map((suffix) => database + suffix)),
    },
    'Server key': {
      fix: 'check that this user can access the file',
      check: () => checkModes(key === undefined ? [] : [key]),
    },
    Sandbox: {
      fix: 'check that this user can access the folder',
      check: () => checkModes(below(sandboxFolder(config))),
    },
  })
}

function checkModes(paths: string[]): Finding {
  const found = paths.filter((path) => existsSync(path))
  if (found.length === 0) return skipped('no file found')
  const open = found.filter(isOpenToOthers)
  if (open.length === 0) return passed('other users cannot read it')
  const names = open.map(shellQuote).join(' ')
  return failed(`Other users of this machine can read ${open.join(', ')}.`, `chmod go= ${names}`)
}

function below(folder: string): string[] {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024
const GIVE = 'give the address at which phones reach the server: --public-url https://… (PASSES_PUBLIC_URL)'

/** Checks that the public URL reaches this service, and compares the responding server's clock with the local one. */
export async function checkPublicUrl(
  config: Config,
  clock: () => Date,
): Promise<{ checks: Check[]; skew: ClockSkew | undefined }> {
  let skew: ClockSkew | undefined
  const url = config.publicUrl && new URL(config.publicUrl)
  const agent = new Agent({ connect: { timeout: TIMEOUT_MS }, maxResponseSize: MAX_BYTES })

  async function get(path: string): Promise<{ status: number; body: unknown }> {
    const target = new URL(`${config.publicUrl!.replace(/\/+$/, '')}${path}`)
    const sentAt = clock().getTime()
    const answer = await request(target, { dispatcher: agent, signal: AbortSignal.timeout(TIMEOUT_MS) })
    const date = Date.parse(String(answer.headers.date))
    // The Date header has whole seconds, so add the half second that has passed on average.
    const seconds = ((sentAt + clock().getTime()) / 2 - (date + 500)) / 1000
    if (!Number.isNaN(date)) skew = { source: `the server at ${target.host}`, seconds }
    const text = await answer.body.text()
    return { status: answer.statusCode, body: parseJson(text) }
  }

  try {
    const checks = await examine('Public URL', {
      Address: { fix: GIVE, check: () => checkAddress(url || undefined, config) },
      Reachable: {
        fix: 'start the server with "passes serve", and check the host name, the proxy, and its certificate',
        async check() {
          if (!url) return skipped('no public URL is set')
          const { status, body } = await get('/healthz')
          if (status !== 200 || (body as { status?: unknown })?.status !== 'ok') {
            return failed(
              `${url.origin} responds with ${status} to /healthz: it is another service, or a proxy that does not reach this server.`,
            )
          }
          const described = (await get('/openapi.json')).body as { info?: { title?: unknown; version?: unknown } }
          const { title, version } = info
          if (described?.info?.title !== title) return failed(`${url.origin} is another service.`, GIVE)
          return passed(`${title} responds, API version ${described.info.version ?? version}`)
        },
      },
    })
    return { checks, skew }
  } finally {
    await agent.close()
  }
}

function checkAddress(url: URL | undefined, config: Config): Finding {
  const { isProduction, platforms } = config
  const isReal = platforms.some((platform) => setups[platform].hasCredentials(config))
  if (!url) {
    if (!isReal && !isProduction) return skipped('no public URL is set: links lead to the listening address')
    return failed('No public URL is set: links would lead to the listening address, which phones do not reach.')
  }
  if (url.protocol === 'https:') {
    return isIP(url.hostname) || url.hostname === 'localhost'
      ? failed(`${url.hostname} is not a name that phones can reach and trust.`)
      : passed(url.origin)
  }
  return isReal || isProduction
    ? failed(`${url.origin} is not https: phones do not fetch updates from it.`)
    : passed(`${url.origin}; a real platform needs https`)
}
