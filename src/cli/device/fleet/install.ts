import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Client, paginate } from '../../../client/client.ts'
import { parseJson } from '../../../core/json.ts'
import { CliError, UsageError } from '../../command/errors.ts'
import { openPackage, unzip } from '../apple-package.ts'
import { directoryOf, downloadPass, readDirectory } from '../http.ts'
import { dealBehaviours, type Mix } from './behaviour.ts'
import { createFleet, type Fleet } from './fleet.ts'
import type { FleetPhone, HeldPass } from './fleet-phone.ts'
import type { Random } from './seeded-random.ts'

export interface InstallOptions {
  client: Pick<Client, 'passes'>
  /** The passes to install, newest first. */
  query: { templateId?: string[] | undefined; projectId?: string[] | undefined }
  fleetId: string
  phones: number
  mix: Mix
  random: Random
  speed: number
  connections: number
  signal: AbortSignal
  onProgress: (registered: number) => void
  onProblem: (message: string) => void
}

export interface InstalledFleet {
  fleet: Fleet
  passIds: ReadonlyMap<string, string>
}

/**
 * Opens the hosted links of issued passes and registers the phones for them, one pass per phone. If there are fewer
 * passes than phones, phones share passes. Stops early if the signal aborts.
 * @throws UsageError if there are no issued passes or they have several pass types
 */
export async function installFleet(options: InstallOptions): Promise<InstalledFleet> {
  const { client, query, phones, mix, random, connections, signal, onProgress } = options
  // Every connection can add a listener.
  setMaxListeners(0, signal)
  const found: { id: string; link: string }[] = []
  for await (const { id, hostedLinks } of paginate(client.passes.list, { ...query, status: ['ISSUED' as const] })) {
    if (hostedLinks.apple !== null) found.push({ id, link: hostedLinks.apple })
    if (found.length === phones || signal.aborted) break
  }
  const [first] = found
  if (!first) {
    throw new UsageError('There is no issued pass with an apple link', { hint: 'issue some with passes issue.' })
  }
  const directory = directoryOf(first.link)
  const { rootPem } = await readDirectory(directory, 'apple')
  const opened = await openLink(first.link, signal)
  // Verify the first package completely, like every phone; from the others, read only the values needed for requests.
  const { content } = openPackage(opened.archive, rootPem, new Date())
  const { passTypeIdentifier, webServiceURL } = content
  const locateApns = async () => (await readDirectory(directory, 'apple')).control
  const fleet = createFleet({ ...options, id: options.fleetId, webServiceURL, passTypeIdentifier, locateApns })
  await fleet.listen()
  const passIds = new Map<string, string>()
  const holders = new Map<(typeof found)[number], FleetPhone[]>(found.map((pass) => [pass, []]))
  for (const [n, behaviour] of dealBehaviours(mix, phones, random).entries()) {
    holders.get(found[n % found.length]!)!.push(fleet.add(behaviour, []))
  }
  const waiting = holders.entries()
  let registered = 0

  async function installRest(): Promise<void> {
    for (const [{ id, link }, own] of waiting) {
      const secret = readSecret(link === first!.link ? opened : await openLink(link, signal), passTypeIdentifier)
      passIds.set(secret.serialNumber, id)
      for (const phone of own) {
        if (signal.aborted) return
        await fleet.register(phone, { ...secret })
        registered += 1
        onProgress(registered)
      }
    }
  }
  try {
    await Promise.all(Array.from({ length: connections }, installRest))
  } catch (error) {
    if (!signal.aborted) {
      await fleet.close()
      throw error
    }
  }
  return { fleet, passIds }
}

interface Opened {
  archive: Buffer
  lastModified: string | null
}

/** Opens a link. Waits for `Retry-After`, because the rate per address is limited. */
async function openLink(link: string, signal: AbortSignal): Promise<Opened> {
  for (;;) {
    try {
      return await downloadPass(link)
    } catch (error) {
      const isBusy = error instanceof CliError && [429, 503].includes(Number(error.details.status))
      if (!isBusy || signal.aborted) throw error
      await sleep((Number(error.details.retryAfter) || 1) * 1000, undefined, { signal })
    }
  }
}

const PassJson = z.object({
  passTypeIdentifier: z.string(),
  serialNumber: z.string(),
  authenticationToken: z.string(),
})

function readSecret({ archive, lastModified }: Opened, passTypeIdentifier: string): HeldPass {
  const read = PassJson.parse(parseJson(unzip(archive).get('pass.json')?.toString() ?? ''))
  if (read.passTypeIdentifier !== passTypeIdentifier) {
    throw new UsageError(`The passes are of several pass types: ${passTypeIdentifier} and ${read.passTypeIdentifier}`, {
      hint: 'choose those of one with --template or --project.',
    })
  }
  return { serialNumber: read.serialNumber, authenticationToken: read.authenticationToken, lastModified }
}
