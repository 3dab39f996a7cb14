import type { PassWallets } from '../../core/contract/wallets.ts'
import { type Column, localTimeOr, table } from '../command/output.ts'

interface Holder {
  device: string
  state: string
  version: number | null
  at: string | null
  error: string | null
}

const columns: readonly Column<Holder>[] = [
  { title: 'wallet', value: ({ device }) => device },
  { title: 'state', value: ({ state }) => state, whole: true },
  { title: 'version', value: ({ version }) => version },
  { title: 'since', value: ({ at }) => localTimeOr(at, null) },
  { title: 'error', value: ({ error }) => error },
]

/** A line for each phone of Apple, and one for Google, which does not tell phones apart. */
export function showWallets({ walletVersion, apple, google }: PassWallets, width: number | undefined): string {
  const holders = [
    ...apple.map(({ deviceId, state, fetchedVersion, fetchedAt, lastError }) => {
      return { device: `Apple ${deviceId}`, state, version: fetchedVersion, at: fetchedAt, error: lastError }
    }),
    ...(google ? [googleHolder(google)] : []),
  ]
  if (holders.length === 0) return 'No phone holds this pass yet: pass get shows the links to hand out.'
  return `The newest version is ${walletVersion}.\n\n${table(holders, columns, { width })}`
}

function googleHolder({
  installedAt,
  state,
  sentVersion,
  sentAt,
  lastError,
}: NonNullable<PassWallets['google']>): Holder {
  const device = installedAt === null ? 'Google (not installed)' : 'Google'
  return { device, state, version: sentVersion, at: sentAt, error: lastError }
}
