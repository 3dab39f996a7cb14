import {
  type wallets as contract,
  DeviceLog,
  FRESHNESS,
  type StaleReason,
  WalletItem,
} from '../../../core/contract/wallets.ts'
import { deviceDigest } from '../../../core/ids.ts'
import type { StoredWallet } from '../../../storage/passes/wallet-list.ts'
import type { Handlers } from '../../http/mount.ts'
import { toBody, toPage } from '../../http/responses.ts'
import { queuePushes } from '../../wallet-sync/holders.ts'
import { audit } from '../audit.ts'
import { requireProject } from '../token-projects.ts'

export const wallets: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId, now }) => {
    const { limit, cursor, offset, olderThan, ...filter } = query
    const changedBefore = olderThan === undefined ? undefined : secondsBefore(now, olderThan)
    const page = await store.wallets.list(workspaceId, { ...filter, changedBefore }, { limit, cursor, offset })
    return toPage(page, (wallet) => showWallet(workspaceId, wallet))
  },

  slo: async ({ query }, { store, workspaceId, now }) => {
    const { objective, withinSeconds } = FRESHNESS
    const counts = await store.wallets.counts(workspaceId, query.projectId, secondsBefore(now, withinSeconds))
    const { phones, current, refused, late } = counts
    const reachable = phones - refused
    const share = reachable > 0 ? (reachable - late) / reachable : null
    const settling = phones - current - refused - late
    const isMet = share === null ? null : share >= objective
    return { objective, withinSeconds, phones, current, settling, late, refused, share, isMet }
  },

  logs: async ({ query }, { store, workspaceId }) => {
    return toPage(await store.deviceLogs.list(workspaceId, query), (log) => toBody(DeviceLog, log))
  },

  nudge: async ({ body: { projectId, silentFor, limit } }, context) => {
    const { store, workspaceId, now, correlationId } = context
    if (projectId !== undefined) await requireProject(store, workspaceId, projectId)
    const pushedBefore = secondsBefore(now, silentFor)
    // Read before the transaction. In the transaction, this query would delay other writers, because it reads all
    // wallets.
    const silent = await store.wallets.listSilent(workspaceId, projectId ? [projectId] : undefined, {
      pushedBefore,
      limit,
    })
    return store.transaction(async (tx) => {
      const { devices, passIds } = await tx.wallets.forgetPushes(workspaceId, silent, pushedBefore)
      await queuePushes(tx, workspaceId, passIds, { at: now, correlationId })
      if (devices > 0) await audit(tx, context, 'pass.nudge', null, { targetCount: passIds.length })
      return { devices, passes: passIds.length }
    })
  },
}

function secondsBefore(at: Date, seconds: number): Date {
  return new Date(at.getTime() - seconds * 1000)
}

function showWallet(workspaceId: string, wallet: StoredWallet): WalletItem {
  const { deviceId, walletVersion } = wallet
  return toBody(WalletItem, {
    ...wallet,
    device: deviceId === null ? null : deviceDigest(workspaceId, deviceId),
    holds: Math.max(wallet.heldVersion, 1),
    since: wallet.heldSince,
    current: walletVersion,
    lastPushAt: wallet.pushedAt,
    reason: reasonOf(wallet),
  })
}

function reasonOf(wallet: StoredWallet): StaleReason | null {
  const { heldVersion, walletVersion, pushedVersion, pushedAt, fetchedAt, lastError } = wallet
  if (Math.max(heldVersion, 1) >= walletVersion) return null
  if (pushedVersion < walletVersion) return lastError === null ? 'not_pushed' : 'refused'
  return fetchedAt && pushedAt && fetchedAt >= pushedAt ? 'behind' : 'silent'
}
