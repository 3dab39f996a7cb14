import type { passes as contract, Pass } from '../../core/contract/passes.ts'
import { Problem } from '../../core/errors.ts'
import { effectiveStatus, isInstallable } from '../../core/rules/pass-status.ts'
import type { StoredPass } from '../../storage/passes.ts'
import type { RequestContext } from '../context.ts'
import type { Handlers } from '../mount.ts'
import { type CreateResult, createPasses } from './create-passes.ts'

export const passes: Handlers<typeof contract> = {
  create: async ({ body }, context) => {
    const [result] = (await createPasses([body], context)) as [CreateResult]
    if ('problem' in result) throw result.problem
    return { status: result.isNew ? 201 : 200, body: toPass(result.pass, context), headers: etag(result.pass) }
  },

  createBatch: async ({ body }, context) => {
    const results = await createPasses(body.passes, context)
    const failed = results.filter((result) => 'problem' in result).length
    return {
      status: 200,
      body: {
        totalRequested: results.length,
        totalCreated: results.length - failed,
        totalFailed: failed,
        results: results.map((result) =>
          'problem' in result
            ? { externalPassId: result.externalPassId, success: false, error: toItemError(result.problem) }
            : { externalPassId: result.pass.externalPassId, success: true, pass: toPass(result.pass, context) },
        ),
      },
    }
  },

  get: async ({ params }, context) => {
    const pass = await context.store.passes.find(context.workspaceId, params.id)
    if (!pass) throw new Problem('PASS_NOT_FOUND', { details: { passId: params.id } })
    return { status: 200, body: toPass(pass, context), headers: etag(pass) }
  },
}

const NO_LINKS = { apple: null, google: null, smart: null }

/** The shape of spec 2.1, as it is at the moment of the request. */
export function toPass(pass: StoredPass, { links, now }: Pick<RequestContext, 'links' | 'now'>): Pass {
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
    hostedLinks: isInstallable(status) ? links.build(pass, now) : NO_LINKS,
  }
}

function etag(pass: StoredPass): Record<string, string> {
  return { etag: `"${pass.revision}"` }
}

function toItemError({ code, message, details }: Problem) {
  return { code, message, ...(Object.keys(details).length > 0 && { details }) }
}
