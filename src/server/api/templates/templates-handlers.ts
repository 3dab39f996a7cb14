import { type templates as contract, Template } from '../../../core/contract/templates/templates.ts'
import { ApiError } from '../../../core/errors.ts'
import { variablesSchema } from '../../../core/rules/template/variables.ts'
import { KeyTaken } from '../../../storage/templates/templates-repository.ts'
import type { Handlers } from '../../http/mount.ts'
import { toBody, toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { bytesOf, requireBytes, requireUnderLimit } from '../limit-checks.ts'
import { requireChange } from '../require-change.ts'
import { holdProject, requireWholeWorkspace } from '../token-projects.ts'
import { missingTemplate, noPublishedVersion } from './template-errors.ts'
import { requireBoundedWork, showVersionDetail } from './template-versions-handlers.ts'

const NEEDS_PROJECT = 'The token is bound to projects: give the projectId of one of them.'

export const templates: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId }) => {
    return toPage(await store.templates.list(workspaceId, query), (template) => toBody(Template, template))
  },

  create: ({ body }, context) => {
    const { store, workspaceId, now } = context
    if (body.projectId === null) requireWholeWorkspace(context, NEEDS_PROJECT)
    return store.transaction(async (tx) => {
      if (body.projectId !== null) await holdProject(tx, workspaceId, body.projectId)
      const template = await orTaken(body.key, () => tx.templates.insert(workspaceId, body, now))
      await audit(tx, context, 'template.create', template.id)
      return toBody(Template, template)
    })
  },

  get: async ({ params }, { store, workspaceId }) =>
    toBody(Template, (await store.templates.find(workspaceId, params.id)) ?? missingTemplate(params.id)),

  update: async ({ params, body }, context) => {
    const { store, workspaceId, now } = context
    requireChange(body, 'Give at least one of name, description, passType, projectId, and key.')
    return store.transaction(async (tx) => {
      // Lock the project before the template. The deletion of a project uses the same order, to avoid deadlocks.
      if (body.projectId) await holdProject(tx, workspaceId, body.projectId)
      const template = (await tx.templates.findForUpdate(workspaceId, params.id)) ?? missingTemplate(params.id)
      if (body.projectId === null) requireWholeWorkspace(context, NEEDS_PROJECT)
      if (body.passType && body.passType !== template.passType && template.latestPublishedVersion !== null) {
        throw new ApiError('TEMPLATE_PASS_TYPE_LOCKED', { details: { passType: template.passType } })
      }
      const updated = await orTaken(body.key, () => tx.templates.update(workspaceId, params.id, body, now))
      await audit(tx, context, 'template.update', params.id)
      return toBody(Template, updated ?? missingTemplate(params.id))
    })
  },

  delete: ({ params }, context) => {
    const { store, workspaceId, now } = context
    return store.transaction(async (tx) => {
      if (!(await tx.templates.delete(workspaceId, params.id, now))) return missingTemplate(params.id)
      await tx.upgrades.cancelOfTemplate(workspaceId, params.id, now)
      await tx.joinPages.delete(workspaceId, params.id)
      await audit(tx, context, 'template.delete', params.id)
    })
  },

  createVersion: async ({ params, body }, context) => {
    const { store, workspaceId, now } = context
    if (body.definition) requireBoundedWork(body.definition)
    const version = await store.transaction(async (tx) => {
      const number = (await tx.templates.takeVersionNumber(workspaceId, params.id)) ?? missingTemplate(params.id)
      const newest = await tx.templateVersions.findNewest(workspaceId, params.id)
      const after = newest?.version ?? 0
      if (body.after !== undefined && body.after !== after) {
        throw new ApiError('CONFLICT', {
          message: `The newest version is ${after}, not ${body.after}: a version was created or deleted in the meantime. Read the versions, and try again.`,
          details: { newestVersion: after },
        })
      }
      const definition = body.definition ?? newest?.definition
      if (!definition) {
        throw new ApiError('MISSING_REQUIRED_FIELD', {
          message: 'The template has no version to copy. Send a definition.',
          details: { field: 'definition' },
        })
      }
      await requireUnderLimit(tx, context, 'draftsPerTemplate', () => tx.usage.countDrafts(workspaceId, params.id))
      await requireBytes(tx, context, bytesOf(definition))
      const version = await tx.templateVersions.insert(workspaceId, params.id, number, definition, now)
      await audit(tx, context, 'template-version.create', version.id)
      return version
    })
    return showVersionDetail(version, context)
  },

  variablesSchema: async ({ params }, { store, workspaceId }) => {
    const [version] = await store.templateVersions.listNewestPublished(workspaceId, [params.id])
    if (!version) throw noPublishedVersion(params.id)
    return { schema: variablesSchema(version.definition) }
  },
}

/** @throws ApiError CONFLICT if another template has the key, even if that template was created concurrently */
async function orTaken<T>(key: string | null | undefined, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof KeyTaken)) throw error
    throw new ApiError('CONFLICT', { message: `Another template has the key ${key}.`, details: { key } })
  }
}
