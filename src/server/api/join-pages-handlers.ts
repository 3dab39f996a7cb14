import { type joinPages as contract, JoinPage, type JoinPageWrite } from '../../core/contract/join-pages.ts'
import { ApiError, validationError } from '../../core/errors.ts'
import { checkJoinPage } from '../../core/rules/join/join-form.ts'
import { writtenOf } from '../../core/rules/template/definition-languages.ts'
import { type JoinPageFields, SlugTaken, type StoredJoinPage } from '../../storage/join/join-pages-repository.ts'
import type { Repositories } from '../../storage/store.ts'
import type { RequestContext } from '../context.ts'
import type { Handlers } from '../http/mount.ts'
import { toBody } from '../http/responses.ts'
import { audit } from './audit.ts'
import { missingTemplate } from './templates/template-errors.ts'

export const joinPages: Handlers<typeof contract> = {
  get: async ({ params: { id } }, { store, workspaceId, services }) => {
    if (!(await store.templates.find(workspaceId, id))) missingTemplate(id)
    return showJoinPage((await store.joinPages.find(workspaceId, id)) ?? missingPage(), services.links.publicUrl)
  },

  set: ({ params: { id }, body }, context) => {
    const { store, workspaceId, services } = context
    if (body.identity !== undefined && !services.mail) {
      throw new ApiError('CONFLICT', {
        message: 'The server cannot send email, which identity requires. Start it with --smtp-url.',
      })
    }
    return store.transaction(async (tx) => {
      if (!(await tx.templates.findForUpdate(workspaceId, id))) missingTemplate(id)
      await requireFitting(tx, id, body, context)
      const page = await setPage(tx, id, body, context).catch((error: unknown) => {
        if (!(error instanceof SlugTaken)) throw error
        throw new ApiError('CONFLICT', {
          message: `Another template uses the slug ${body.slug}.`,
          details: { slug: body.slug },
        })
      })
      await audit(tx, context, 'join-page.set', id)
      return showJoinPage(page ?? missingTemplate(id), services.links.publicUrl)
    })
  },

  delete: ({ params: { id } }, context) => {
    const { store, workspaceId } = context
    return store.transaction(async (tx) => {
      if (!(await tx.templates.findForUpdate(workspaceId, id))) missingTemplate(id)
      if (!(await tx.joinPages.delete(workspaceId, id))) missingPage()
      await audit(tx, context, 'join-page.delete', id)
    })
  },
}

/** @throws ApiError CONFLICT without a published version, VALIDATION_ERROR if the page does not match the version */
async function requireFitting(
  tx: Repositories,
  templateId: string,
  body: JoinPageWrite,
  { workspaceId }: RequestContext,
): Promise<void> {
  const [version] = await tx.templateVersions.listNewestPublished(workspaceId, [templateId])
  if (!version) {
    throw new ApiError('CONFLICT', { message: 'The template has no published version. Publish one first.' })
  }
  const issues = checkJoinPage(body, writtenOf(version.definition), version.definition)
  if (issues.length > 0) throw validationError(issues)
}

function setPage(
  tx: Repositories,
  templateId: string,
  { slug, open, closesAt, limit, ...settings }: JoinPageWrite,
  { workspaceId, now }: RequestContext,
): Promise<StoredJoinPage | undefined> {
  const fields: JoinPageFields = {
    slug,
    settings,
    open,
    closesAt: closesAt === undefined ? null : new Date(closesAt),
    passLimit: limit ?? null,
  }
  return tx.joinPages.set(workspaceId, templateId, fields, now)
}

function showJoinPage({ settings, ...page }: StoredJoinPage, publicUrl: string): JoinPage {
  const url = `${publicUrl}/join/${page.slug}`
  return toBody(JoinPage, { ...page, ...settings, identity: settings.identity ?? null, limit: page.passLimit, url })
}

function missingPage(): never {
  throw new ApiError('NOT_FOUND', { message: 'The template has no join page.' })
}
