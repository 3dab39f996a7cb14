import { RescheduleError } from '../../core/errors.ts'
import { directionOfLanguage } from '../../core/rules/display/language-match.ts'
import { textIn, writtenOf } from '../../core/rules/template/definition-languages.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { StoredIdentity } from '../../storage/join/join-identities-repository.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Services } from '../context.ts'
import type { Email } from '../mail/mailer.ts'
import { escapeHtml } from '../pages/html.ts'
import { pageLanguage } from '../pages/words.ts'

type MailServices = Pick<Services, 'store' | 'clock' | 'mail' | 'links' | 'definitions'>

/** The delay, in seconds, before the next attempt if this server cannot send email. */
const WITHOUT_MAIL_SECONDS = 60

/** Sends links of passes to the email addresses of their holders. Skips erased passes, which have no address. */
export async function sendJoinLinks(jobs: Job[], services: MailServices): Promise<void> {
  for (const job of jobs) {
    const email = await buildEmail(job, services)
    if (email) {
      if (!services.mail) {
        throw new RescheduleError('This server cannot send email: start it with --smtp-url.', {
          retryAfterSeconds: WITHOUT_MAIL_SECONDS,
          countsAsAttempt: false,
        })
      }
      await services.mail.send(email)
    }
    await services.store.statement((tx) => tx.jobs.complete([job]))
  }
}

async function buildEmail({ id, workspaceId, subject }: Job, services: MailServices): Promise<Email | undefined> {
  const { store } = services
  const [pass, identity] = await Promise.all([
    store.passes.find(workspaceId, subject),
    store.joinIdentities.findByPass(workspaceId, subject),
  ])
  const to = pass && identity ? pass.variables[identity.variable] : undefined
  return typeof to === 'string' ? { id, to, ...(await writeEmail(pass!, identity!, services)) } : undefined
}

/** Writes the email in the visitor's language, without text from the visitor, because such text could be spam. */
async function writeEmail(
  pass: StoredPass,
  { language: locale }: StoredIdentity,
  { store, clock, links, definitions }: MailServices,
): Promise<Pick<Email, 'subject' | 'text' | 'html'>> {
  const { workspaceId, templateId, templateVersionId, templateName } = pass
  const [page, definition] = await Promise.all([
    store.joinPages.find(workspaceId, templateId),
    definitions.find(workspaceId, templateVersionId),
  ])
  const { languages } = writtenOf(definition!)
  const { words, tag, ofTexts = tag } = pageLanguage(new Headers({ 'accept-language': locale }), languages)
  const title = page ? textIn(page.settings.title, ofTexts, languages) : templateName
  const link = links.urlFor('smart', pass, clock())
  const { subject, what, advice } = words.join.mail
  const paragraphs = [title, what]
  return {
    subject: subject.replace('{title}', () => title),
    text: [...paragraphs, link, advice].join('\n\n'),
    html: `<!doctype html><html lang="${tag}" dir="${directionOfLanguage(tag)}"><body>${paragraphs
      .map((text) => `<p dir="auto">${escapeHtml(text)}</p>`)
      .join(
        '',
      )}<p><a dir="ltr" href="${escapeHtml(link)}">${escapeHtml(link)}</a></p><p>${escapeHtml(advice)}</p></body></html>`,
  }
}
