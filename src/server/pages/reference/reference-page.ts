import { errorTable } from '../../../core/errors.ts'
import { openApiDocument } from '../../../core/openapi/document.ts'
import { DESCRIPTION } from '../../../core/openapi/text.ts'
import { escapeHtml, type Page } from '../html.ts'
import { block, docsPage, link, markdown } from './docs-page.ts'
import { type Field, fieldList, fieldsOf, type Schema, typeOf } from './fields.ts'
import { startSection } from './tasks.ts'

export const docsPath = '/docs'

/** The address of the page of objects, relative to the page of endpoints. */
const OBJECTS = 'docs/objects'

interface Described {
  operationId: string
  tags: string[]
  summary: string
  requestBody?: { description?: string; required: boolean; content: Record<string, Content> }
}

interface Operation extends Described {
  description: string
  parameters: Field[]
  responses: Record<string, { description: string; content?: Record<string, Content> }>
  'x-codeSamples': { label: string; source: string }[]
}

interface Content {
  schema?: Schema
  example?: unknown
}

export function referencePage(): Page {
  const { tags, paths, webhooks } = openApiDocument()
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const operation = described as Operation
      return { ...partOf(operation), html: article(method.toUpperCase(), path, operation) }
    }),
  )
  const events = Object.entries(webhooks).map(([type, { post }]) => {
    const described: Described = post
    return { ...partOf(described), html: eventArticle(type, described) }
  })
  const groups = tags.map((tag) => ({
    ...tag,
    parts: [...operations, ...events].filter((part) => part.tag === tag.name),
  }))
  const nav = groups.map(({ name, parts }) => {
    const links = parts.map(({ id, summary }) => `<li>${link(`#${id}`, summary)}</li>`)
    return `<li>${link(`#${slug(name)}`, name)}<ul>${links.join('')}</ul></li>`
  })
  const sections = groups.map(({ name, description, parts }) => {
    const head = `<h2 id="${slug(name)}">${escapeHtml(name)}</h2>${markdown(description)}`
    return `<section>${head}${parts.map(({ html }) => html).join('')}</section>`
  })
  const [intro = '', ...rest] = DESCRIPTION.split(/^(?=## )/m).filter((part) => !part.startsWith('## Errors'))
  const conventions = rest.map((part) => {
    const title = /^## (.*)/.exec(part)![1]!
    const text = markdown(part.replace(/^## .*/, ''))
    return `<details id="about-${slug(title)}"><summary>${escapeHtml(title)}</summary>${text}</details>`
  })
  const start = startSection()
  const startLinks = start.links.map((task) => `<li>${task}</li>`).join('')
  return docsPage({
    title: 'API reference',
    root: '',
    nav: `<ul>${startLinks}${nav.join('')}</ul>`,
    main: `<h1>API reference</h1>${markdown(intro)}${start.html}${conventions.join('')}${sections.join('')}`,
    hasSearch: true,
  })
}

function partOf({ operationId: id, summary, tags }: Described) {
  return { id, summary, tag: tags[0] }
}

function article(method: string, path: string, operation: Operation): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation
  const samples = operation['x-codeSamples'].map(
    ({ label, source }, n) => `<details${n === 0 ? ' open' : ''}><summary>${label}</summary>${block(source)}</details>`,
  )
  return `<article id="${operationId}"><h3>${escapeHtml(summary)}</h3>
<p class="route"><b>${method}</b> <code>${escapeHtml(path)}</code> <span>${operationId}</span></p>
${markdown(description)}${parameters.length > 0 ? `<h4>Parameters</h4>${fieldList(parameters, OBJECTS)}` : ''}${
  requestBody ? bodyOf(requestBody) : ''
}${samples.join('')}${Object.entries(responses).map(response).join('')}</article>`
}

function bodyOf({ content, description = '', required }: NonNullable<Operation['requestBody']>): string {
  const { schema } = content['application/json'] ?? {}
  const fields = fieldsOf(schema)
  const type = schema?.$ref ? `${typeOf(schema, OBJECTS)}, ` : ''
  const note = `${Object.keys(content).join(', ')}. ${description}${required ? '' : ' Optional.'}`
  const list = fields.length > 0 ? fieldList(fields, OBJECTS) : ''
  return `<h4>Body</h4>${list}<p class="note">${type}${escapeHtml(note)}</p>`
}

/** Returns the HTML of an event that webhooks receive. The text of the section describes what all events share. */
function eventArticle(type: string, { operationId, summary, requestBody }: Described): string {
  const { schema = {}, example } = requestBody!.content['application/json']!
  return `<article id="${operationId}"><h3>${escapeHtml(summary)}</h3>
<p class="route"><b>event</b> <code>${escapeHtml(type)}</code> <span>${typeOf(schema, OBJECTS)}</span></p>
<details><summary>Body</summary>${block(JSON.stringify(example, null, 2))}</details></article>`
}

function response([status, { description, content }]: [string, Operation['responses'][string]]): string {
  if (Number(status) >= 400) {
    const codes = description
      .split(', ')
      .map((code) => (code in errorTable ? link(`docs/errors#${code}`, code) : escapeHtml(code)))
    return `<p class="answer"><b>${status}</b> ${codes.join(', ')}</p>`
  }
  const [type, { schema, example }] = Object.entries(content ?? {})[0] ?? ['', {}]
  const head = `<b>${status}</b> ${escapeHtml([description, type].filter(Boolean).join(', '))}`
  const named = schema && typeOf(schema, OBJECTS)
  const object = named?.includes('<a ') ? `<p class="note">${named}</p>` : ''
  if (example === undefined) return `<p class="answer">${head}</p>${object}`
  return `<details><summary>${head}</summary>${object}${block(JSON.stringify(example, null, 2))}</details>`
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(/\W+/g, '-')
}
