import { Flags } from '@oclif/core'
import type { JoinPage } from '../../core/contract/join-pages.ts'
import { namedArg } from '../arguments/named.ts'
import { writeNamed } from '../command/cli-error.ts'
import { forceFlag, requireReplaceable } from '../command/existing-file.ts'
import { count, details, localTime, localTimeOr } from '../command/output.ts'
import { callCommand, type ResourceCommands, TEMPLATE } from '../command/resource-command.ts'

const args = { id: namedArg('template') }

export const commands: ResourceCommands = {
  'template:join': callCommand({
    summary: 'Show the join page of a template, or write its poster.',
    description:
      'Visitors of the page create their own pass. The poster is an A4 page with the QR code of the address.',
    examples: [
      `template join ${TEMPLATE}`,
      {
        description: 'Write a poster for a window, and count its visitors separately',
        command: 'template join coffee-card --poster window.svg --source window',
      },
    ],
    args,
    flags: {
      poster: Flags.string({ summary: 'File of the poster, .svg or .pdf. A PDF shows only Latin letters.' }),
      source: Flags.string({
        summary: 'Source recorded for visitors who scan the poster.',
        dependsOn: ['poster'],
      }),
      language: Flags.string({
        summary: 'Language of the poster (default: the first language of the title).',
        dependsOn: ['poster'],
      }),
      force: forceFlag,
    },
    check: ({ poster, force }) => requireReplaceable(poster, force),
    async call({ joinPages }, { args: { id }, flags: { poster, source, language } }) {
      const page = await joinPages.get({ params: { id } })
      if (poster !== undefined) {
        const { drawPoster } = await import('../qr-page.ts')
        await writeNamed(poster, await drawPoster(page, poster, { source, language }))
      }
      return page
    },
    print: (page, { flags: { poster } }) => (poster === undefined ? showJoinPage(page) : `Wrote ${poster}.`),
  }),
  'template:join:set': callCommand({
    summary: 'Create or replace the join page of a template.',
    description: 'The file contains the request body of PUT /v1/templates/{id}/join.',
    examples: [
      `template join set ${TEMPLATE} --file join.json`,
      'template join set coffee-card --file join.json --json',
    ],
    args,
    flags: { file: Flags.string({ summary: 'JSON file of the page.', required: true }) },
    async call({ joinPages }, { args: { id }, flags: { file } }) {
      const [{ readJsonFile }, { JoinPageWrite }] = await Promise.all([
        import('../template/json-file.ts'),
        import('../../core/contract/join-pages.ts'),
      ])
      const { value: body } = await readJsonFile(file, JoinPageWrite, 'the file of a join page')
      return joinPages.set({ params: { id }, body })
    },
    print: showJoinPage,
  }),
  'template:join:delete': callCommand({
    summary: 'Delete the join page of a template.',
    description: 'Passes that the page created are not affected.',
    examples: [`template join delete ${TEMPLATE}`, 'template join delete coffee-card --yes --json'],
    args,
    asks: true,
    async call({ joinPages }, { args: { id }, ask }) {
      await ask(`Delete the join page of template ${id}?`)
      await joinPages.delete({ params: { id } })
      return { id, deleted: true }
    },
    print: ({ id }) => `The join page of template ${id} is deleted.`,
  }),
}

function showJoinPage(page: JoinPage): string {
  return details([
    ['Address', page.url],
    ['Template', page.templateId],
    ['Open', page.open ? 'yes' : 'no'],
    ['Closes', localTimeOr(page.closesAt, 'never')],
    ['Passes', page.limit === null ? count(page.joined) : `${count(page.joined)} of ${count(page.limit)}`],
    ['Fields', page.fields.map(({ variable }) => variable).join(', ')],
    ['Identity', page.identity ?? 'none'],
    ['Consent', `${page.consent.version} (${page.consent.required ? 'required' : 'optional'})`],
    ['Created', localTime(page.createdAt)],
    ['Updated', localTime(page.updatedAt)],
  ])
}
