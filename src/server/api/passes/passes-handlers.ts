import type { passes as contract, Pass } from '../../../core/contract/passes.ts'
import { foldWindow } from '../../../core/contract/schemas/list-parameters.ts'
import { createdWindow } from '../../../core/contract/schemas/pass-list-query.ts'
import { byPlatform } from '../../../core/contract/schemas/platform.ts'
import { ApiError, MAX_ISSUES } from '../../../core/errors.ts'
import { effectiveStatus, isInstallable } from '../../../core/rules/pass/pass-status.ts'
import { mapInSlices } from '../../../core/slices.ts'
import type { PassJoin, StoredPass } from '../../../storage/passes/pass-row.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { Reply } from '../../http/responses.ts'
import { countRejection } from '../../metrics/metrics.ts'
import { passIn, previewOf, previewPageOf } from '../../pages/card/card-preview.ts'
import { renderOr } from '../../wallet-sync/issuing.ts'
import { audit } from '../audit.ts'
import { type CreateResult, createPasses } from './create-passes.ts'
import { type ImportResult, importPasses } from './import-passes.ts'
import { walletsOf } from './pass-wallets.ts'
import { noPass, requirePass } from './require-pass.ts'
import { updatePass } from './update-pass.ts'
import { voidTogether } from './void-pass.ts'

export const passes: Handlers<typeof contract> = {
  create: async ({ body }, context) => {
    const [result] = (await createPasses([body], context)) as [CreateResult]
    if ('problem' in result) throw result.problem
    return new Reply(result.isNew ? 201 : 200, toPass(result.pass, context), etag(result.pass))
  },

  createBatch: async ({ body }, context) => {
    const results = await createPasses(body.passes, context)
    const named = results.map((result) =>
      'problem' in result ? result : { ...result, externalPassId: result.pass.externalPassId },
    )
    return toBatch(named, context)
  },

  import: async ({ body, query }, context) => await toBatch(await importPasses(body, query, context), context),

  get: async ({ params, query }, context) => {
    const pass = await requirePass(params.id, context)
    const [body] = await showPasses([pass], query.include, context)
    return new Reply(200, body!, etag(pass))
  },

  list: async ({ query: { include, ...query } }, context) => {
    const request = foldWindow(query, createdWindow, 'created')
    const { rows, ...page } = await context.store.passes.list(context.workspaceId, request, context.now)
    return { items: await showPasses(rows, include, context), ...page }
  },

  update: async ({ params, query, headers, body }, context) => {
    const options = { ifMatch: headers['if-match'], dryRun: query.dryRun, isBulk: query.bulk }
    const updated = await context.store.transaction((tx) => updatePass(tx, params.id, body, options, context))
    const { pass, rings } = updated
    const shown = { ...toPass(pass, context), ...(body.notify !== undefined && { notified: rings }) }
    return query.dryRun ? shown : new Reply(200, shown, etag(pass))
  },

  rotateCode: async ({ params, headers }, context) => {
    const options = { ifMatch: headers['if-match'], dryRun: false, renewal: 'code' as const }
    const { pass } = await context.store.transaction((tx) => updatePass(tx, params.id, {}, options, context))
    return new Reply(200, toPass(pass, context), etag(pass))
  },

  transfer: async ({ params, headers, body }, context) => {
    const options = { ifMatch: headers['if-match'], dryRun: false, renewal: 'holder' as const }
    const { pass } = await context.store.transaction((tx) => updatePass(tx, params.id, body, options, context))
    return new Reply(200, toPass(pass, context), etag(pass))
  },

  void: async ({ params, body }, context) => {
    const problem = await voidTogether(context.store, { passId: params.id, reason: body.reason ?? null, context })
    if (problem) throw problem
    return { id: params.id, status: 'VOID' }
  },

  revokeLinks: ({ params }, context) => {
    const { store, workspaceId, now, services } = context
    return store.transaction(async (tx) => {
      const pass = await tx.passes.findForUpdate(workspaceId, params.id)
      if (!pass) throw noPass(params.id)
      await tx.passes.raiseLinkGeneration(workspaceId, pass.id, now)
      if (pass.group) await tx.groups.raiseLinkGeneration(workspaceId, pass.group.id)
      await audit(tx, context, 'pass.revoke-links', pass.id)
      // An installable pass has a smart link and one link per platform. Other passes have no links.
      const revokedCount = isInstallable(effectiveStatus(pass, now)) ? 1 + services.wallets.all.length : 0
      return { id: pass.id, revokedAt: now.toISOString(), revokedCount }
    })
  },

  wallets: async ({ params }, context) => {
    const pass = await requirePass(params.id, context)
    const wallets = await walletsOf([pass], context)
    return wallets.get(pass.id)!
  },

  preview: async ({ params, query }, context) => {
    const { store, services, now } = context
    const { identities, packages, issuing, google } = services
    const pass = await requirePass(params.id, context)
    if (query.format === 'pkpass') {
      if (!packages) throw new ApiError('CONFLICT', { message: 'This server does not issue Apple passes.' })
      const file = await renderOr(() => packages.build(pass, now))
      return new Reply(200, file, { 'content-type': 'application/vnd.apple.pkpass' })
    }
    const rendered = passIn(await renderOr(() => (google ?? issuing).render(pass)), query.language)
    const wallets = await identities.walletsOf(pass)
    if (query.format === 'html') {
      const { label: title, externalPassId, templateVersion } = pass
      const subtitle = `${externalPassId}, version ${templateVersion} of ${pass.templateName}`
      const page = await previewPageOf(rendered, {
        title,
        subtitle,
        wallets,
        store,
        at: now,
        platform: query.platform,
      })
      return new Reply(200, Buffer.from(page.html), page.headers)
    }
    return previewOf(rendered, wallets, now, query.platform)
  },
}

const NO_LINKS = { ...byPlatform(() => null), smart: null, group: null }

async function showPasses(
  passes: StoredPass[],
  include: 'wallets'[] | undefined,
  context: RequestContext,
): Promise<Pass[]> {
  const wallets = include ? await walletsOf(passes, context) : undefined
  return passes.map((pass) => ({ ...toPass(pass, context), ...(wallets && { wallets: wallets.get(pass.id)! }) }))
}

function toPass(pass: StoredPass, { services, now }: Pick<RequestContext, 'services' | 'now'>): Pass {
  const status = effectiveStatus(pass, now)
  return {
    id: pass.id,
    externalPassId: pass.externalPassId,
    label: pass.label,
    status,
    version: pass.version,
    templateVersionId: pass.templateVersionId,
    templateId: pass.templateId,
    projectId: pass.projectId,
    variables: pass.variables,
    redemption: pass.redemption,
    expiresAt: pass.expiresAt?.toISOString() ?? null,
    createdAt: pass.createdAt.toISOString(),
    updatedAt: pass.updatedAt.toISOString(),
    revision: pass.revision,
    templateVersion: pass.templateVersion,
    latestTemplateVersion: pass.latestTemplateVersion,
    groupKey: pass.group?.key ?? null,
    hostedLinks: isInstallable(status) ? services.links.build(pass, now) : NO_LINKS,
    ...(pass.join && { join: toJoin(pass.join) }),
  }
}

function toJoin({ slug, source, consentVersion, consentedAt }: PassJoin): Pass['join'] {
  return { slug, source, consentVersion, consentedAt: consentedAt?.toISOString() ?? null }
}

function etag(pass: StoredPass): Record<string, string> {
  return { etag: `"${pass.revision}"` }
}

async function toBatch(results: ImportResult[], context: RequestContext) {
  const problems = results.flatMap((result) => ('problem' in result ? [result.problem] : []))
  for (const problem of problems) countRejection(context.services.metrics, problem)
  const errors = toItemErrors(problems)
  return {
    totalRequested: results.length,
    totalCreated: results.length - problems.length,
    totalFailed: problems.length,
    results: await mapInSlices(results, (result) => {
      const { externalPassId } = result
      if ('problem' in result) return { externalPassId, success: false, error: errors.get(result.problem)! }
      const pass = result.pass && toPass(result.pass, context)
      return { externalPassId, success: true, created: result.isNew, ...(pass && { pass }) }
    }),
  }
}

/** Returns the error of each item for the response. All errors together contain at most MAX_ISSUES issues. */
function toItemErrors(problems: ApiError[]) {
  let left = MAX_ISSUES
  return new Map(
    problems.map((problem) => {
      const { code, message, details } = problem
      if (!Array.isArray(details.issues)) {
        return [problem, { code, message, ...(Object.keys(details).length > 0 && { details }) }]
      }
      const issues = details.issues.slice(0, left)
      left -= issues.length
      const omittedIssues = Number(details.omittedIssues ?? 0) + details.issues.length - issues.length
      return [problem, { code, message, details: { ...details, issues, ...(omittedIssues > 0 && { omittedIssues }) } }]
    }),
  )
}
