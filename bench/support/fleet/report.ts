import pLimit from 'p-limit'
import { type Client, paginate } from '../../../src/client/client.ts'
import type { StaleReason, WalletItem } from '../../../src/core/contract/wallets.ts'
import { deviceDigest } from '../../../src/core/ids.ts'
import type { BehaviourName } from './behaviour.ts'
import type { Fleet } from './fleet.ts'
import type { FleetPhone, HeldPass } from './fleet-phone.ts'

/** The state of phones with one behavior, compared with the server's data. */
export interface BehaviourReport {
  behaviour: BehaviourName
  phones: number
  passes: number
  current: number
  /** The number of outdated phones that the server lists, by reason. */
  stale: Record<StaleReason, number>
  /** The number of outdated phones that the server does not list. */
  unlisted: number
  /** The number of current phones that the server lists as outdated. */
  wronglyListed: number
}

/**
 * Compares the passes on phones with the server's list. If they differ, requests the pass to find out whether the phone
 * is outdated.
 */
export async function reportFleet(
  fleet: Fleet,
  { client, passIds }: { client: Pick<Client, 'wallets' | 'workspace'>; passIds: ReadonlyMap<string, string> },
): Promise<BehaviourReport[]> {
  const workspace = await client.workspace.get()
  const listed = new Map<string, WalletItem>()
  for await (const item of paginate(client.wallets.list, { stale: true, platform: ['apple'] })) {
    listed.set(`${item.device} ${item.passId}`, item)
  }
  const reports = new Map<BehaviourName, BehaviourReport>()
  const doubtful: { report: BehaviourReport; phone: FleetPhone; pass: HeldPass; item: WalletItem | undefined }[] = []
  for (const phone of fleet.phones) {
    const { name } = phone.behaviour
    const report = reports.get(name) ?? emptyReport(name)
    reports.set(name, report)
    report.phones += 1
    report.passes += phone.passes.length
    const digest = deviceDigest(workspace.id, phone.deviceId)
    for (const pass of phone.passes) {
      const item = listed.get(`${digest} ${passIds.get(pass.serialNumber) ?? pass.serialNumber}`)
      if (isAgreed(phone, item)) note(report, item)
      else doubtful.push({ report, phone, pass, item })
    }
  }
  await pLimit(AT_ONCE).map(doubtful, async ({ report, phone, pass, item }) => {
    const isBehind = await fleet.isBehind(phone, pass)
    if (isBehind === (item !== undefined)) note(report, item)
    else if (isBehind) report.unlisted += 1
    else report.wronglyListed += 1
  })
  return [...reports.values()]
}

const AT_ONCE = 32

/**
 * Returns whether the phone and the server agree that a change is pending. Always `true` if the phone was not pushed or
 * the push was refused, because the phone cannot know of the change in that case.
 */
function isAgreed({ toldAt }: FleetPhone, item: WalletItem | undefined): boolean {
  const mayBeUntold = item?.reason === 'not_pushed' || item?.reason === 'refused'
  return mayBeUntold || (item !== undefined) === toldAt > 0
}

function note(report: BehaviourReport, item: WalletItem | undefined): void {
  if (item?.reason) report.stale[item.reason] += 1
  else report.current += 1
}

function emptyReport(behaviour: BehaviourName): BehaviourReport {
  const stale = { not_pushed: 0, refused: 0, silent: 0, behind: 0 }
  return { behaviour, phones: 0, passes: 0, current: 0, stale, unlisted: 0, wronglyListed: 0 }
}
