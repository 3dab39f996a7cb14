import { browserFile } from '../assets.ts'
import { escapeHtml } from '../html.ts'
import { block, inline, link, markdown } from './docs-page.ts'

interface Task {
  title: string
  summary: string
  /** The text as Markdown. */
  text: string
  /** The name, without its extension, of the example programs in the folder browser/tasks. */
  file: string
  /** The operations that the task uses, by ID. */
  operations: string[]
}

const SETTINGS = '`PASSES_URL` is the address of this server, and `PASSES_TOKEN` an access token.'

/** The tasks that most API clients start with. Tests run the example programs of each task. */
const tasks: Task[] = [
  {
    title: 'Create a pass',
    summary: 'Issue a pass from a template, and get its link for the holder.',
    text:
      `${SETTINGS} \`TEMPLATE_ID\` is the ID of a template with a published version. \`externalPassId\` is your own key: if you ` +
      'repeat the request, you get the same pass. Send `hostedLinks.smart` to the holder.',
    file: 'create-pass',
    operations: ['passes.create', 'passes.createBatch', 'templates.list'],
  },
  {
    title: 'List passes with a filter',
    summary: 'Find passes by status, variable, or text, and read all pages.',
    text:
      `${SETTINGS} A pass must match all filters, and one of the values of a repeated filter. If \`hasMore\` is true, send the ` +
      'request again with `nextCursor` as `cursor`.',
    file: 'list-passes',
    operations: ['passes.list', 'scans.list'],
  },
  {
    title: 'Verify a webhook',
    summary: 'Check that an event comes from this server, before you use it.',
    text:
      '`PASSES_WEBHOOK_SECRET` is the `secret` in the response to the request that creates the webhook. Compute the signature of ' +
      'the bytes as received, before you parse them, and return 400 if it is wrong. An event can arrive twice with the same `id`.',
    file: 'verify-webhook',
    operations: ['webhooks.create', 'webhooks.test', 'webhooks.rotateSecret'],
  },
]

const languages = [
  ['curl', 'sh'],
  ['TypeScript', 'mts'],
  ['Python', 'py'],
] as const

/** Returns the tasks as HTML, and their links for the navigation. */
export function startSection(): { links: string[]; html: string } {
  const shown = tasks.map(({ title, summary, text, file, operations }) => {
    const programs = languages.map(([language, extension], index) => {
      const program = block(browserFile(`tasks/${file}.${extension}`).trimEnd())
      const label = extension === 'sh' && file === 'verify-webhook' ? 'Shell' : language
      return `<details${index === 0 ? ' open' : ''}><summary>${label}</summary>${program}</details>`
    })
    const endpoints = operations.map((id) => link(`#${id}`, id)).join(', ')
    return `<details class="task" id="${file}"><summary><b>${escapeHtml(title)}</b> <span>${inline(summary)}</span></summary>
${markdown(text)}${programs.join('')}<p class="note">Endpoints: ${endpoints}</p></details>`
  })
  return {
    links: tasks.map(({ title, file }) => link(`#${file}`, title)),
    html: `<section class="tasks">${shown.join('')}</section>`,
  }
}
