import pLimit from 'p-limit'
import { openPackage } from '../../../src/cli/device/apple-package.ts'
import { directoryOf, downloadPass, readDirectory } from '../../../src/cli/device/http.ts'
import { type Client, paginate } from '../../../src/client/client.ts'
import type { Random } from '../random.ts'
import { dealBehaviours, type Mix } from './behaviour.ts'
import { createFleet, type Fleet } from './fleet.ts'

export interface InstallOptions {
  client: Pick<Client, 'passes'>
  projectId?: string
  fleetId: string
  phones: number
  mix: Mix
  random: Random
  speed: number
  signal?: AbortSignal
  onProblem: (message: string) => void
}

export interface InstalledFleet {
  fleet: Fleet
  /** The pass IDs by serial number. */
  passIds: ReadonlyMap<string, string>
}

const AT_ONCE = 32

/**
 * Opens the hosted links of issued passes, the newest first, and registers the phones for them, one pass per phone. If
 * there are fewer passes than phones, phones share passes. Stops early if the signal aborts.
 * @throws Error if there are no issued passes or they have several pass types
 */
export async function installFleet(options: InstallOptions): Promise<InstalledFleet> {
  const { client, projectId, phones, mix, random, signal } = options
  const found: { id: string; link: string }[] = []
  const query = { status: ['ISSUED' as const], ...(projectId !== undefined && { projectId: [projectId] }) }
  for await (const { id, hostedLinks } of paginate(client.passes.list, query)) {
    if (hostedLinks.apple !== null) found.push({ id, link: hostedLinks.apple })
    if (found.length === phones) break
  }
  const [first] = found
  if (!first) throw new Error('No issued pass has an Apple link. Issue passes with passes issue.')
  const directory = directoryOf(first.link)
  const { rootPem } = await readDirectory(directory, 'apple')
  const open = async (link: string) => {
    const { archive, lastModified } = await downloadPass(link)
    return { ...openPackage(archive, rootPem, new Date()).content, lastModified }
  }
  const { passTypeIdentifier, webServiceURL } = await open(first.link)
  const locateApns = async () => (await readDirectory(directory, 'apple')).control
  const fleet = createFleet({ ...options, id: options.fleetId, webServiceURL, passTypeIdentifier, locateApns })
  await fleet.listen()
  for (const behaviour of dealBehaviours(mix, phones, random)) fleet.add(behaviour, [])
  const passIds = new Map<string, string>()
  await pLimit(AT_ONCE).map(found, async ({ id, link }, nth) => {
    if (signal?.aborted) return
    const { serialNumber, authenticationToken, lastModified, ...content } = await open(link)
    if (content.passTypeIdentifier !== passTypeIdentifier) throw new Error('The passes have several pass types.')
    passIds.set(serialNumber, id)
    for (let n = nth; n < phones && !signal?.aborted; n += found.length) {
      await fleet.register(fleet.phones[n]!, { serialNumber, authenticationToken, lastModified })
    }
  })
  return { fleet, passIds }
}
