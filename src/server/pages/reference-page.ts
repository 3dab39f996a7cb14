import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ErrorCode } from '../../core/contract/schemas/common.ts'
import { ApiError, errorTable } from '../../core/errors.ts'
import { errorExample, openApiDocument } from '../../core/openapi/document.ts'
import { DESCRIPTION } from '../../core/openapi/text.ts'
import { type Asset, asset, BASE_STYLE, browserAsset, browserFile, fromLink, pageIcon, precompress } from './assets.ts'
import { escapeHtml, htmlDocument, type Page, pageHeaders } from './html.ts'
import { OWN_FILES } from './scripted-pages.ts'

const REFERENCE_STYLE = `${BASE_STYLE}\n${browserFile('reference.css')}`

export const docsPath = '/docs'
export const errorsPath = '/docs/errors'

interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  parameters: { name: string; in: string; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { description: string; required: boolean; content: Record<string, Content> }
  responses: Record<string, { description: string; content?: Record<string, Content> }>
  'x-codeSamples': { label: string; source: string }[]
}

interface Content {
  schema?: Schema
  example?: unknown
}

interface Schema {
  type?: string | string[]
  format?: string
  enum?: unknown[]
  const?: unknown
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  description?: string
  default?: unknown
  $ref?: string
}

type Shown = { method: string; path: string; operation: Operation }

export function referencePage(): Page {
  const { tags, paths } = openApiDocument()
  const all: Shown[] = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: operation as Operation,
    })),
  )
  const groups = tags.map((tag) => ({ ...tag, shown: all.filter(({ operation }) => operation.tags[0] === tag.name) }))
  const nav = groups.map(({ name, shown }) => {
    const links = shown.map(({ operation: { operationId, summary } }) => `<li>${link(`#${operationId}`, summary)}</li>`)
    return `<li>${link(`#${slug(name)}`, name)}<ul>${links.join('')}</ul></li>`
  })
  const sections = groups.map(({ name, description, shown }) => {
    const head = `<h2 id="${slug(name)}">${escapeHtml(name)}</h2>${markdown(description)}`
    return `<section>${head}${shown.map(article).join('')}</section>`
  })
  const [intro = '', ...rest] = DESCRIPTION.split(/^(?=## )/m).filter((part) => !part.startsWith('## Errors'))
  const conventions = rest.map(
    (part) =>
      `<details><summary>${escapeHtml(/^## (.*)/.exec(part)![1]!)}</summary>${markdown(part.replace(/^## .*/, ''))}</details>`,
  )
  return page('API reference', {
    root: '',
    nav: `<ul>${nav.join('')}</ul>`,
    main: `<h1>API reference</h1>${markdown(intro)}${conventions.join('')}${sections.join('')}`,
  })
}

/** Returns the page of all error codes. Codes that no operation returns come last. */
export function errorsPage(): Page {
  const { paths } = openApiDocument()
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods) as Operation[])
  const codes = ErrorCode.options.map((code) => ({
    code,
    status: errorTable[code][0],
    meaning: errorTable[code][1] as string,
  }))
  const isReserved = ({ meaning }: { meaning: string }) => meaning.startsWith('Reserved')
  const entry = ({ code, status, meaning }: (typeof codes)[number]) => {
    const answeredBy = operations.filter(({ responses }) => responses[status]?.description.split(', ').includes(code))
    // Do not list the operations of a code that every operation can return.
    const where =
      answeredBy.length === operations.length
        ? '<p>Any endpoint can return this code.</p>'
        : `<p>Returned by ${answeredBy.map(({ operationId }) => link(`../docs#${operationId}`, operationId)).join(', ')}</p>`
    const example = block(JSON.stringify(errorExample(code), null, 2))
    return `<article id="${code}"><h2>${code}</h2><p><b>${status}</b> ${escapeHtml(meaning)}</p>${where}${example}</article>`
  }
  const answered = codes.filter((one) => !isReserved(one))
  const reserved = codes.filter(isReserved)
  const rows = reserved.map(
    ({ code, status, meaning }) =>
      `<tr><th scope="row" id="${code}">${code}</th><td>${status}</td><td>${escapeHtml(meaning)}</td></tr>`,
  )
  return page('Errors', {
    root: '../',
    nav: `<ul>${answered.map(({ code }) => `<li>${link(`#${code}`, code)}</li>`).join('')}<li>${link('#reserved', 'Reserved codes')}</li></ul>`,
    main: `<h1>Errors</h1>${markdown(ERRORS)}${answered.map(entry).join('')}<h2 id="reserved">Reserved codes</h2>
<p>These codes are part of the enumeration, but no endpoint returns them.</p><table><tbody>${rows.join('')}</tbody></table>`,
  })
}

const ERRORS = `The body of an error is \`{errorCode, message, correlationId, details}\`. Errors of \`POST /v1/scans\` have no
\`errorCode\`. The message explains what is wrong and what to do. Messages can change between releases, so programs must use the
code. When you contact the operator, include the correlation ID, which is also in the server log.`

function article({ method, path, operation }: Shown): string {
  const { operationId, summary, description, parameters, requestBody, responses } = operation
  const samples = operation['x-codeSamples'].map(
    ({ label, source }, n) => `<details${n === 0 ? ' open' : ''}><summary>${label}</summary>${block(source)}</details>`,
  )
  return `<article id="${operationId}"><h3>${escapeHtml(summary)}</h3>
<p class="route"><b>${method}</b> <code>${escapeHtml(path)}</code> <span>${operationId}</span></p>
${markdown(description)}${fields(
  'Parameters',
  parameters.map(({ schema, ...parameter }) => ({ ...parameter, note: parameter.in, schema })),
)}${requestBody ? bodyOf(requestBody) : ''}${samples.join('')}${Object.entries(responses).map(answer).join('')}</article>`
}

function bodyOf({ content, description, required }: NonNullable<Operation['requestBody']>): string {
  const note = `${Object.keys(content).join(', ')}. ${description}${required ? '' : ' Optional.'}`
  const { schema } = content['application/json'] ?? {}
  const whole = schema?.properties
    ? fields(
        'Body',
        Object.entries(schema.properties).map(([name, property]) => ({
          name,
          note: '',
          required: schema.required?.includes(name) ?? false,
          schema: property,
        })),
      )
    : ''
  return `${whole || '<h4>Body</h4>'}<p class="note">${escapeHtml(note)}</p>`
}

interface Field {
  name: string
  note: string
  required: boolean
  description?: string
  schema: Schema
}

function fields(title: string, list: Field[]): string {
  if (list.length === 0) return ''
  const rows = list.map(({ name, note, required, description = '', schema }) => {
    const said = description || schema.description || ''
    const facts = [
      note,
      typeOf(schema),
      required ? 'required' : '',
      schema.default === undefined ? '' : `default ${JSON.stringify(schema.default)}`,
    ]
    return `<dt><code>${escapeHtml(name)}</code> <span>${escapeHtml(facts.filter(Boolean).join(', '))}</span></dt><dd>${inline(said)}</dd>`
  })
  return `<h4>${title}</h4><dl>${rows.join('')}</dl>`
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1)!
  if (schema.enum) return schema.enum.map(String).join(' | ')
  if (schema.const !== undefined) return String(schema.const)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(typeOf))].join(' or ')
  if (schema.items) return `array of ${typeOf(schema.items)}`
  return schema.format ?? [schema.type ?? 'any'].flat().join(' or ')
}

function answer([status, { description, content }]: [string, Operation['responses'][string]]): string {
  if (Number(status) >= 400) {
    const codes = description
      .split(', ')
      .map((code) => (code in errorTable ? link(`docs/errors#${code}`, code) : escapeHtml(code)))
    return `<p class="answer"><b>${status}</b> ${codes.join(', ')}</p>`
  }
  const [type, { example }] = Object.entries(content ?? {})[0] ?? ['', {}]
  const head = `<b>${status}</b> ${escapeHtml([description, type].filter(Boolean).join(', '))}`
  if (example === undefined) return `<p class="answer">${head}</p>`
  return `<details><summary>${head}</summary>${block(JSON.stringify(example, null, 2))}</details>`
}

function block(text: string): string {
  return `<pre><code>${escapeHtml(text)}</code></pre>`
}

function inline(text: string): string {
  return markdown(text).replace(/^<p>|<\/p>$/g, '')
}

function link(href: string, text: string): string {
  return `<a href="${escapeHtml(href)}">${escapeHtml(text)}</a>`
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(/\W+/g, '-')
}

function page(title: string, { root, nav, main }: { root: string; nav: string; main: string }): Page {
  const style = createHash('sha256').update(REFERENCE_STYLE).digest('base64')
  const top = [
    link(`${root}docs`, 'Endpoints'),
    link(`${root}docs/errors`, 'Errors'),
    link(`${root}docs/try`, 'Try it'),
    link(`${root}openapi.json`, 'openapi.json'),
  ]
  return {
    html: htmlDocument({
      title: `${title} of passes`,
      head: `<meta name="color-scheme" content="light dark">
<link rel="icon" href="${root}${pageIcon.path.slice(1)}">
<style>${REFERENCE_STYLE}</style>`,
      body: `<header><b>passes</b> <span>${top.join(' ')}</span></header>
<main>${main}</main>
<nav aria-label="${title}">${nav}</nav>`,
    }),
    headers: pageHeaders({ 'default-src': "'none'", 'style-src': `'sha256-${style}'`, 'img-src': "'self'" }),
  }
}

function markdown(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .filter(Boolean)
    .map((part) => (part.startsWith('- ') ? list(part) : `<p>${spans(part)}</p>`))
    .join('')
}

function list(part: string): string {
  const items = part.split(/^- /m).filter(Boolean)
  return `<ul>${items.map((item) => `<li>${spans(item.trim())}</li>`).join('')}</ul>`
}

function spans(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

export const tryPath = '/docs/try'

export const docsScript = browserAsset('scripts/docs.js')

export const docsStyle = browserAsset('docs.css')

export function tryPage({ script, style }: ReferenceFiles): Page {
  return {
    html: htmlDocument({
      title: 'Try the API of passes',
      head: `<link rel="icon" href="${fromLink(pageIcon.path)}">
<link rel="stylesheet" href="${fromLink(style.path)}">
<link rel="stylesheet" href="${fromLink(docsStyle.path)}">
<script src="${fromLink(docsScript.path)}"></script>
<script src="${fromLink(script.path)}" defer></script>`,
      body: `<div id="reference"></div>
<noscript>This page needs JavaScript. The description that it shows is <a href="../openapi.json">openapi.json</a>.</noscript>`,
    }),
    // Allow data URLs for images: Swagger's style sheet embeds its icons.
    headers: pageHeaders(OWN_FILES),
  }
}

interface ReferenceFiles {
  script: Asset
  style: Asset
}

/** The folder of the built files, next to this module. When run from source, the files come from the package. */
const builtFolder = fileURLToPath(new URL('./swagger-ui/', import.meta.url))

/** @throws ApiError SERVICE_UNAVAILABLE that names what is missing */
export async function readReferenceFiles(): Promise<ReferenceFiles> {
  const folder = await findFolder()
  const file = async (name: string, contentType: string) => {
    const { path, ...content } = asset(name, contentType, await readFile(join(folder, name)))
    return { path, ...(await precompress(content)) }
  }
  const [script, style] = await Promise.all([
    file('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    file('swagger-ui.css', 'text/css; charset=utf-8'),
  ])
  return { script, style }
}

async function findFolder(): Promise<string> {
  const isBuilt = await stat(builtFolder).then(
    () => true,
    () => false,
  )
  if (isBuilt) return builtFolder
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  } catch (cause) {
    throw new ApiError('SERVICE_UNAVAILABLE', {
      message:
        `The reference page needs the files of swagger-ui-dist, which are neither in ${builtFolder} nor installed: ` +
        'run npm ci and npm run build. The description itself is at /openapi.json.',
      cause,
    })
  }
}
