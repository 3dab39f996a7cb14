import { type upgrades as contract, Upgrade } from '../../../core/contract/templates/upgrades.ts'
import { ApiError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { StoredFailure, StoredUpgrade } from '../../../storage/templates/upgrades-repository.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { toBody, toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { missingTemplate } from './template-errors.ts'

/** The maximum number of upgrades of a workspace that have not ended, including dry runs. */
const MAX_PENDING = 10

export const upgrades: Handlers<typeof contract> = {
  create: async ({ params, body }, context) => {
    const { store, workspaceId, now, token, correlationId } = context
    const rejection = await context.services.takeQueue(context, 1)
    if (rejection) throw rejection
    return store.transaction(async (tx) => {
      const template = (await tx.templates.findForUpdate(workspaceId, params.id)) ?? missingTemplate(params.id)
      const number = body.to === 'latest' ? template.latestPublishedVersion : body.to
      const version =
        number === null ? undefined : await tx.templateVersions.findPublished(workspaceId, params.id, number)
      if (!version) {
        throw new ApiError('TEMPLATE_NOT_FOUND', {
          message: 'The template does not have this published version.',
          details: { templateId: params.id, to: body.to },
        })
      }
      if (!body.dryRun) await requireNoneRunning(tx, workspaceId, params.id)
      await requireFewPending(tx, workspaceId)
      const upgrade = {
        id: newId(now),
        templateId: params.id,
        templateVersionId: version.id,
        version: version.version,
        filter: body.filter ?? null,
        passLimit: body.limit ?? null,
        dryRun: body.dryRun,
        projectIds: token.projectIds,
        tokenId: token.id,
        tokenName: token.name,
        tokenSubject: token.person?.subject ?? null,
      }
      const stored = await tx.upgrades.insert(workspaceId, upgrade, now)
      await tx.jobs.insert([{ workspaceId, kind: 'upgrade-passes', subject: upgrade.id, correlationId }], now)
      await audit(tx, context, 'upgrade.create', upgrade.id)
      return toUpgrade(stored)
    })
  },

  list: async ({ params, query }, context) => {
    const { store, workspaceId } = context
    await requireTemplate(context, params.id)
    const page = await store.upgrades.list(workspaceId, params.id, query)
    const ids = page.rows.map(({ id }) => id)
    const failures = await store.upgrades.listFailures(workspaceId, ids)
    return toPage(page, (upgrade) => toUpgrade(upgrade, failures.get(upgrade.id)))
  },

  get: async ({ params: { id: templateId, upgradeId } }, context) => {
    const { store, workspaceId } = context
    await requireTemplate(context, templateId)
    const upgrade = await store.upgrades.find(workspaceId, templateId, upgradeId)
    if (!upgrade) throw noUpgrade(upgradeId)
    const failures = await store.upgrades.listFailures(workspaceId, [upgradeId])
    return toUpgrade(upgrade, failures.get(upgradeId))
  },

  cancel: async ({ params: { id: templateId, upgradeId } }, context) => {
    const { store, workspaceId, now } = context
    await requireTemplate(context, templateId)
    await store.transaction(async (tx) => {
      const upgrade = await tx.upgrades.findForUpdate(workspaceId, upgradeId)
      if (upgrade?.templateId !== templateId) throw noUpgrade(upgradeId)
      if (upgrade.status !== 'PENDING') return
      await tx.upgrades.cancel(workspaceId, upgradeId, now)
      // Delete the job if it has not started. A running job ends itself at its next chunk.
      await tx.jobs.deleteWaiting('upgrade-passes', upgradeId)
      await audit(tx, context, 'upgrade.cancel', upgradeId)
    })
  },
}

/** @throws ApiError CONFLICT if an upgrade of the template is running, because two upgrades would mix its versions */
async function requireNoneRunning(tx: Repositories, workspaceId: string, templateId: string): Promise<void> {
  const running = await tx.upgrades.findRunning(workspaceId, templateId)
  if (!running) return
  throw new ApiError('CONFLICT', {
    message: 'An upgrade of this template is running. Wait until it is DONE, or stop it with DELETE.',
    details: running.isVisible ? { templateId, upgradeId: running.id } : { templateId },
  })
}

/** Locks the workspace and counts its pending upgrades. @throws ApiError CONFLICT if there are MAX_PENDING */
async function requireFewPending(tx: Repositories, workspaceId: string): Promise<void> {
  await tx.usage.lock(workspaceId)
  const used = await tx.upgrades.countPending(workspaceId)
  if (used < MAX_PENDING) return
  throw new ApiError('CONFLICT', {
    message: `The workspace has ${used} pending upgrades; ${MAX_PENDING} are allowed. Stop one, or wait until one ends.`,
    details: { allowed: MAX_PENDING, used },
  })
}

async function requireTemplate({ store, workspaceId }: RequestContext, templateId: string): Promise<void> {
  if (!(await store.templates.find(workspaceId, templateId))) missingTemplate(templateId)
}

function noUpgrade(upgradeId: string): ApiError {
  return new ApiError('NOT_FOUND', { message: 'Upgrade not found.', details: { upgradeId } })
}

function toUpgrade(upgrade: StoredUpgrade, failures: StoredFailure[] = []): Upgrade {
  return toBody(Upgrade, {
    ...upgrade,
    to: upgrade.version,
    limit: upgrade.passLimit,
    matched: upgrade.matched ?? 0,
    failures: failures.map(({ passId, externalPassId, code, message }) => ({ passId, externalPassId, code, message })),
  })
}
