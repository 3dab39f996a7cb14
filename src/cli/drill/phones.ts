import { randomBytes } from 'node:crypto'
import { CliError } from '../command/errors.ts'
import { openPackage } from '../device/apple-package.ts'
import { fieldsOf, type PassJson, styleOf } from '../device/apple-pass-json.ts'
import { downloadPass } from '../device/http.ts'
import { fetchPass, listChanged, type PassKitAccount, register, type ServedPass } from '../device/passkit.ts'
import { receivePushes } from '../device/pushes.ts'

/** An iPhone with one pass and the state that Wallet keeps. */
export interface DrillPhone extends PassKitAccount, ServedPass {
  lastModified: string | null
  /** The value of the pass's field `revision`; 0 before it has one. */
  revision: number
  /** The error of the last exchange; `undefined` if it succeeded. */
  problem?: string | undefined
}

/** Counters of the phones. */
export interface CrowdCounts {
  pushes: number
  /** Pushes for a pass type of which the phone has no pass; they are ignored. */
  strayPushes: number
  packages: number
  /** Packages that phones rejected. */
  refused: number
  /**
   * Packages with another serial number, pass type, or token: Wallet treats them as another pass, which the user
   * would have to add.
   */
  strange: number
}

/** The phones of a drill, which receive pushes and fetch changes. */
export interface Crowd {
  phones: readonly DrillPhone[]
  counts(): CrowdCounts
  /** Downloads a package, installs it, and registers the phone of that number. */
  install(n: number, link: string): Promise<void>
  /** Returns the current package. @throws CliError */
  download(phone: DrillPhone): Promise<Buffer>
  /** Returns whether the server has nothing newer for the phone. @throws CliError if the service does not know the phone */
  isCurrent(phone: DrillPhone): Promise<boolean>
  close(): Promise<void>
}

/** The maximum number of concurrent exchanges. */
const AT_ONCE = 24
/** The delay before a phone retries a failed exchange, in milliseconds. */
const AGAIN_MS = 1_000

/**
 * Creates phones that follow Apple's documentation exactly: after a push they query changes, fetch the listed passes,
 * verify them, and show newer ones. If a package names another service, they register there and query it only after a
 * push.
 * @param control of the APNs emulator
 * @param onPackage called with each package that a phone accepts
 */
export function openCrowd({
  control,
  rootPem,
  onPackage,
}: {
  control: string
  rootPem: string
  onPackage?: (content: PassJson) => void
}): Crowd {
  const phones: DrillPhone[] = []
  /** The prefix of tokens, by which the sandbox distinguishes fleets. */
  const id = randomBytes(8).toString('hex')
  const byToken = new Map<string, DrillPhone>()
  const counts: CrowdCounts = { pushes: 0, strayPushes: 0, packages: 0, refused: 0, strange: 0 }
  const woken = new Set<DrillPhone>()
  const inFlight = new Set<DrillPhone>()
  const closed = new AbortController()

  function wake(phone: DrillPhone): void {
    woken.add(phone)
    takeTurns()
  }

  function takeTurns(): void {
    for (const phone of woken) {
      if (inFlight.size >= AT_ONCE || closed.signal.aborted) return
      if (inFlight.has(phone)) continue
      woken.delete(phone)
      inFlight.add(phone)
      void look(phone)
        .then(
          () => {
            phone.problem = undefined
          },
          (error: unknown) => {
            phone.problem = error instanceof Error ? error.message : String(error)
            setTimeout(wake, AGAIN_MS, phone).unref()
          },
        )
        .finally(() => {
          inFlight.delete(phone)
          takeTurns()
        })
    }
  }

  async function look(phone: DrillPhone): Promise<void> {
    const { webServiceURL } = phone
    const changed = await listChanged(phone)
    if (!changed) return
    if (changed.serialNumbers.includes(phone.serialNumber)) await refresh(phone)
    if (phone.webServiceURL === webServiceURL) phone.updatedSince = changed.lastUpdated
  }

  async function refresh(phone: DrillPhone): Promise<void> {
    const newer = await fetchNewer(phone, phone.lastModified)
    if (!newer) return
    const { archive, lastModified } = newer
    const content = open(archive)
    const isOther = (['serialNumber', 'passTypeIdentifier', 'authenticationToken'] as const).some(
      (name) => content[name] !== phone[name],
    )
    if (isOther) {
      counts.strange += 1
      throw new CliError('The package is of another pass.')
    }
    const { webServiceURL } = content
    const isMoved = webServiceURL !== phone.webServiceURL
    if (isMoved) await register({ ...phone, webServiceURL }, phone)
    Object.assign(phone, { webServiceURL, lastModified, revision: revisionIn(content) })
    if (isMoved) phone.updatedSince = null
  }

  /** @throws CliError PASS_REFUSED, which is counted */
  function open(archive: Buffer): PassJson {
    counts.packages += 1
    try {
      const { content } = openPackage(archive, rootPem, new Date())
      onPackage?.(content)
      return content
    } catch (error) {
      counts.refused += 1
      throw error
    }
  }

  const hearing = receivePushes({
    fleetId: id,
    locate: async () => control,
    signal: closed.signal,
    onOpen: () => undefined,
    onPush({ token, topic }) {
      const phone = byToken.get(token)
      if (!phone) return
      counts.pushes += 1
      if (topic === phone.passTypeIdentifier) wake(phone)
      else counts.strayPushes += 1
    },
  })
  return {
    phones,
    counts: () => ({ ...counts }),
    async install(n, link) {
      const { archive, lastModified } = await downloadPass(link)
      const content = open(archive)
      const { serialNumber, passTypeIdentifier, authenticationToken, webServiceURL } = content
      const phone = {
        serialNumber,
        passTypeIdentifier,
        authenticationToken,
        webServiceURL,
        deviceId: randomBytes(16).toString('hex'),
        pushToken: id + randomBytes(24).toString('hex'),
        updatedSince: null,
        lastModified,
        revision: revisionIn(content),
      }
      phones[n] = phone
      byToken.set(phone.pushToken, phone)
      // Register last: the first push can arrive before the response.
      await register(phone, phone)
    },
    download: async (phone) => (await fetchNewer(phone, null))!.archive,
    isCurrent: async (phone) => (await fetchNewer(phone, phone.lastModified)) === undefined,
    async close() {
      closed.abort()
      await hearing
    },
  }
}

/** Returns the package unless it has that date. @throws CliError */
async function fetchNewer(phone: DrillPhone, since: string | null) {
  const fetched = await fetchPass(phone, since)
  if (fetched.outcome === 'refused') throw new CliError(fetched.reason)
  return fetched.outcome === 'changed' ? fetched : undefined
}

function revisionIn(content: PassJson): number {
  const field = fieldsOf(styleOf(content)).find(({ key }) => key === 'revision')
  return Number(field?.value ?? 0)
}
