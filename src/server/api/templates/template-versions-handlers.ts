import type { Definition, WrittenDefinition } from '../../../core/contract/schemas/definition.ts'
import {
  type templateVersions as contract,
  TemplateVersion,
  type TemplateVersionDetail,
} from '../../../core/contract/templates/template-versions.ts'
import { ApiError, below, listIssues, validationError } from '../../../core/errors.ts'
import { hasClassKeys } from '../../../core/rules/template/class-key.ts'
import { checkDefinition, sampleScope } from '../../../core/rules/template/definition.ts'
import { inLanguage } from '../../../core/rules/template/definition-languages.ts'
import { namedImages } from '../../../core/rules/template/image-choice.ts'
import type { Scope } from '../../../core/rules/template/placeholder.ts'
import { checkRenderWork } from '../../../core/rules/template/render-work.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { StoredVersion } from '../../../storage/templates/template-versions-repository.ts'
import type { StoredTemplate } from '../../../storage/templates/templates-repository.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { Reply, toBody } from '../../http/responses.ts'
import { previewOf, previewPageOf, sampleInLanguages, samplePassIn } from '../../pages/card/card-preview.ts'
import { findPlatformIssues } from '../../pages/card/platform-issues.ts'
import { findTemplateWarnings } from '../../pages/card/template-warnings.ts'
import { renderOr } from '../../wallet-sync/issuing.ts'
import { audit } from '../audit.ts'
import { bytesOf, requireBytes } from '../limit-checks.ts'
import { showRejection } from '../passes/pass-wallets.ts'
import { missingTemplate } from './template-errors.ts'

export const templateVersions: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId }) => {
    if (!(await store.templates.find(workspaceId, query.templateId))) missingTemplate(query.templateId)
    const versions = await store.templateVersions.list(workspaceId, query.templateId)
    return versions.map((version) => toBody(TemplateVersion, version))
  },

  get: async ({ params }, context) => {
    const { store, workspaceId } = context
    const version = (await store.templateVersions.find(workspaceId, params.id)) ?? missing(params.id)
    return showVersionDetail(version, context)
  },

  update: async ({ params, body }, context) => {
    const { store, workspaceId, now } = context
    requireBoundedWork(body.definition)
    const version = await store.transaction(async (tx) => {
      const draft = await getDraft(tx, workspaceId, params.id)
      await requireBytes(tx, context, bytesOf(body.definition) - bytesOf(draft.definition))
      await tx.templateVersions.setDefinition(workspaceId, draft.id, body.definition, now)
      await audit(tx, context, 'template-version.update', draft.id)
      return { ...draft, definition: body.definition, updatedAt: now }
    })
    return showVersionDetail(version, context)
  },

  delete: ({ params }, context) => {
    const { store, workspaceId } = context
    return store.transaction(async (tx) => {
      const draft = await getDraft(tx, workspaceId, params.id)
      await tx.templateVersions.delete(workspaceId, draft.id)
      await audit(tx, context, 'template-version.delete', draft.id)
    })
  },

  publish: async ({ params }, context) => {
    const { store, workspaceId, now, correlationId } = context
    const checked = (await store.templateVersions.find(workspaceId, params.id)) ?? missing(params.id)
    const template = (await store.templates.find(workspaceId, checked.templateId)) ?? missing(params.id)
    if (checked.stage === 'draft') await checkPublishable(checked.definition, template, context)
    const version = await store.transaction(async (tx) => {
      // Lock the template before the version. All writers use this order, to avoid deadlocks.
      const current = await tx.templates.findForUpdate(workspaceId, checked.templateId)
      const draft = await getDraft(tx, workspaceId, params.id)
      if (draft.updatedAt.getTime() !== checked.updatedAt.getTime() || current?.passType !== template.passType) {
        throw new ApiError('CONFLICT', { message: 'The draft changed while it was published; try again.' })
      }
      const ids = [...new Set([...namedImages(draft.definition)].map(({ id }) => id))]
      const images = ids.length > 0 ? await tx.images.lockKnown(workspaceId, ids) : new Set()
      if (images.size < ids.length) {
        throw new ApiError('CONFLICT', {
          message: 'An image of the draft was erased while it was published; try again.',
        })
      }
      await tx.templateVersions.setPublished(workspaceId, draft.id, now)
      await tx.templates.setPublished(workspaceId, draft.templateId, draft, now)
      // If the version has class keys, insert no job: each of its classes is created with the first pass of the class.
      if (context.services.google && !hasClassKeys(inLanguage(draft.definition), template.passType)) {
        await tx.jobs.insert([{ workspaceId, kind: 'upsert-google-class', subject: draft.id, correlationId }], now)
      }
      await audit(tx, context, 'template-version.publish', draft.id)
      const published = { stage: 'published' as const, publishedAt: now, updatedAt: now }
      return { ...draft, ...published }
    })
    return showVersionDetail(version, context)
  },

  preview: async ({ params, query }, context) => {
    const { store, workspaceId, now } = context
    const version = (await store.templateVersions.find(workspaceId, params.id)) ?? missing(params.id)
    const template = (await store.templates.find(workspaceId, version.templateId)) ?? missing(params.id)
    const definition = inLanguage(version.definition)
    const scope = await sampleScopeOf(definition, template, context)
    const isInOne = query.language !== undefined || query.format === 'html'
    const sample = await renderOr(() =>
      isInOne
        ? samplePassIn(definition, template.passType, { scope, language: query.language })
        : sampleInLanguages(definition, template.passType, scope),
    )
    const warnings = await findTemplateWarnings(version, context)
    const wallets = await walletsOfProject(template.projectId, context)
    if (query.format === 'html') {
      const subtitle = `Version ${version.version}, ${version.stage}, with sample values`
      const page = await previewPageOf(sample, { title: template.name, subtitle, wallets, store, at: now, warnings })
      return new Reply(200, Buffer.from(page.html), page.headers)
    }
    return { card: { ...sample.card }, ...previewOf(sample, wallets, now), warnings }
  },
}

export async function showVersionDetail(
  { definition, ...version }: StoredVersion,
  context: RequestContext,
): Promise<TemplateVersionDetail> {
  const rejections = await context.store.rejections.list(context.workspaceId, [version.id])
  const warnings = await findTemplateWarnings({ ...version, definition }, context)
  return {
    ...toBody(TemplateVersion, version),
    definition,
    warnings,
    lastError: showRejection(rejections.get(version.id)),
  }
}

/** @throws ApiError VALIDATION_ERROR if rendering a draft would take too much work */
export function requireBoundedWork(definition: WrittenDefinition): void {
  const issues = checkRenderWork(definition)
  if (issues.length > 0) throw validationError([...below('definition', issues)])
}

async function checkPublishable(
  definition: WrittenDefinition,
  { passType, projectId }: Pick<StoredTemplate, 'passType' | 'projectId'>,
  context: RequestContext,
): Promise<void> {
  const images = [...namedImages(definition)]
  const ids = [...new Set(images.map(({ id }) => id))]
  const known = await context.store.images.listKnown(context.workspaceId, ids)
  const unknown = images
    .filter(({ id }) => !known.has(id))
    .map(({ path }) => ({ path, message: 'Image not found; upload it first' }))
  const issues = [...checkDefinition(definition), ...unknown]
  if (issues.length === 0) {
    const wallets = await walletsOfProject(projectId, context)
    const options = { wallets, now: context.now, hasProject: projectId !== null }
    issues.push(...(await findPlatformIssues(inLanguage(definition), passType, options)))
  }
  if (issues.length > 0) throw validationError(listIssues(below('definition', issues)))
}

/** Returns sample values, with the names that passes of the template have. */
async function sampleScopeOf(
  definition: Definition,
  { name, projectId }: StoredTemplate,
  { store, workspaceId }: RequestContext,
): Promise<Scope> {
  const project = projectId === null ? undefined : await store.projects.find(workspaceId, projectId)
  return new Map(sampleScope(definition)).set('template.name', name).set('project.name', project?.name ?? '')
}

async function walletsOfProject(projectId: string | null, { store, workspaceId, services }: RequestContext) {
  return services.identities.walletsOf(await store.identities.findDefaults(workspaceId, projectId))
}

async function getDraft(tx: Repositories, workspaceId: string, id: string): Promise<StoredVersion> {
  const version = (await tx.templateVersions.findForUpdate(workspaceId, id)) ?? missing(id)
  if (version.stage !== 'draft') {
    throw new ApiError('CONFLICT', { message: 'A published version cannot be changed. Create a new one.' })
  }
  return version
}

function missing(templateVersionId: string): never {
  throw new ApiError('TEMPLATE_NOT_FOUND', { message: 'Template version not found.', details: { templateVersionId } })
}
