import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Definition, fieldGroups } from '../../../core/contract/schemas/definition.ts'
import { ApiError, below } from '../../../core/errors.ts'
import { inLanguage, languagesOf, writtenOf } from '../../../core/rules/template/definition-languages.ts'
import { browserAsset, browserFile, pageIcon } from '../assets.ts'
import { samplePass, viewsOf } from '../card/card-preview.ts'
import { phoneStyles, phonesHtml } from '../card/preview-page.ts'
import { buildPage, escapeHtml, type Page, pageHeaders, schemeStyle } from '../html.ts'
import {
  createWarnings,
  type DevContent,
  type PlacedNote,
  platformIssuesOf,
  previewWallets,
  scopeOf,
} from './content.ts'

export type DevReading = { content: DevContent } | { faults: string[] }

export interface TemplateDevOptions {
  /** The name of the file, which is the title of the page until the file is read. */
  file: string
  /** The port; 0 uses a free one. */
  port: number
  /** Reads all files again. Must not throw. */
  read: () => Promise<DevReading>
  files: () => string[]
  locate: (notes: readonly PlacedNote[]) => Promise<PlacedNote[]>
}

export interface TemplateDev {
  url: string
  close(): Promise<void>
}

/**
 * Serves a page that shows a template file on phones and follows its changes. Listens only on the loopback address. The
 * check of the Host header rejects other sites that point their name at this address (DNS rebinding).
 * @throws the error of the listening socket, for example if the port is taken
 */
export async function startTemplateDev(options: TemplateDevOptions): Promise<TemplateDev> {
  const { file, read, files, locate } = options
  const listeners = new Set<ServerResponse>()
  const warnings = createWarnings()
  let content: DevContent | undefined
  let earlierImages: DevContent['images'] = new Map()
  let notes: PlacedNote[] = []
  let faults: string[] = []

  async function reload(): Promise<void> {
    const reading = await read()
    if ('content' in reading) {
      faults = []
      // Keep the previous images, because a page that has not received the change yet can still request them.
      earlierImages = content?.images ?? earlierImages
      content = reading.content
      const now = new Date()
      const imageIssues = await warnings.findImageIssues(content)
      const issues = [...imageIssues, ...(content.problems.length > 0 ? [] : await platformIssuesOf(content, now))]
      const found = await warnings.find(content, now)
      notes = [...content.problems, ...(await locate([...below('definition', issues), ...found]))]
    } else faults = reading.faults
    for (const listener of listeners) listener.write('event: change\ndata:\n\n')
  }

  function view(asked: URLSearchParams): DevView {
    const chosen = Number(asked.get('holder'))
    const languages = content ? languagesOf(writtenOf(content.definition)) : []
    // Replace an unknown language with the default.
    const language = languages.find((tag) => tag === asked.get('language')) ?? languages[0]
    const holders = [
      'Sample values',
      ...(content?.holders.map(({ label, externalPassId }) => label || externalPassId) ?? []),
    ]
    const holder = holders[chosen] === undefined ? 0 : chosen
    const facts = { title: content?.name ?? file, holders, holder, languages, language: language ?? null }
    const nothing = { phones: null, styles: inEach(() => ''), outline: '' }
    try {
      const drawn = content && { ...draw(content, holder, language), outline: outlineHtml(content.definition, notes) }
      return { ...facts, faults, ...(drawn ?? nothing) }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // If the values of the selected holder, or of all holders, cannot be rendered, show the error instead of the
      // pass.
      return { ...facts, faults: [...faults, error.message], ...nothing }
    }
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    // Split the path by hand, because a client can send a path that cannot be parsed as a URL.
    const [pathname = '/', query] = (request.url ?? '/').split('?', 2)
    const id = pathname.replace(/^\/images\//, '')
    const image = content?.images.get(id) ?? earlierImages.get(id)
    const asset = assets.find(({ path }) => path === pathname)
    if (!isOwnHost(request)) send(response, 403, 'text/plain', 'This page is available only on this machine.\n')
    else if (request.method !== 'GET') send(response, 405, 'text/plain', 'Method not allowed.\n')
    else if (pathname === '/') {
      const page = devPage(file)
      response.writeHead(200, page.headers).end(page.html)
    } else if (asset) send(response, 200, asset.contentType, asset.content)
    else if (pathname === '/view')
      send(response, 200, 'application/json', JSON.stringify(view(new URLSearchParams(query))))
    else if (pathname === '/events') follow(response)
    else if (pathname.startsWith('/images/') && image) send(response, 200, image.contentType, image.bytes)
    else send(response, 404, 'text/plain', 'Not found.\n')
  }

  function follow(response: ServerResponse): void {
    response.writeHead(200, { ...OWN_HEADERS, 'content-type': 'text/event-stream' })
    response.write(':\n\n')
    listeners.add(response)
    response.on('close', () => listeners.delete(response))
  }

  const watching = watchFiles(files, reload)
  await watching.started
  const server = createServer(answer)
  try {
    await once(server.listen(options.port, '127.0.0.1'), 'listening')
  } catch (error) {
    watching.close()
    warnings.close()
    throw error
  }
  const { port } = server.address() as AddressInfo
  const isOwnHost = ({ headers: { host } }: IncomingMessage) =>
    host === `127.0.0.1:${port}` || host === `localhost:${port}`
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      watching.close()
      warnings.close()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function draw(
  content: DevContent,
  holder: number,
  language: string | undefined,
): Record<'phones' | 'styles', Record<Scheme, string>> {
  const at = new Date()
  const { definition, passType, images } = content
  const pass = samplePass(inLanguage(definition, language), passType, scopeOf(content, content.holders[holder - 1]))
  const facts = { ...viewsOf(pass, previewWallets, at), images: pass.card.images, at }
  const imageUrl = (id: string) => (images.has(id) ? `/images/${id}` : undefined)
  const sheets = phoneStyles(facts)
  return {
    phones: inEach((scheme) => phonesHtml({ ...facts, variant: scheme }, { imageUrl })),
    styles: inEach((scheme) => schemeStyle(sheets, scheme)),
  }
}

function inEach(make: (scheme: Scheme) => string): Record<Scheme, string> {
  return { light: make('light'), dark: make('dark') }
}

const devScript = browserAsset('scripts/template-dev.js')
const assets = [devScript, pageIcon]

/** The headers of all responses. They also prevent other sites from loading the responses. */
const OWN_HEADERS = { ...pageHeaders({ 'default-src': "'none'" }), 'cross-origin-resource-policy': 'same-origin' }

function send(response: ServerResponse, status: number, contentType: string, body: string | Uint8Array): void {
  response.writeHead(status, { ...OWN_HEADERS, 'content-type': contentType }).end(body)
}

const POLL_MS = 50

/**
 * Calls `changed` after each change of the files, one call at a time. Compares inode, size, and time, because editors
 * replace files, and a file can disappear and reappear. `started` resolves after the first call.
 */
function watchFiles(files: () => string[], changed: () => Promise<void>) {
  const stopped = new AbortController()

  const stateNow = () => files().map(stateOf).join('\n')
  let seen = stateNow()

  async function follow(): Promise<void> {
    while (!stopped.signal.aborted) {
      await sleep(POLL_MS, undefined, { signal: stopped.signal }).catch(() => undefined)
      const found = stateNow()
      if (stopped.signal.aborted || found === seen) continue
      seen = found
      await changed()
    }
  }

  return { started: changed().then(() => void follow()), close: () => stopped.abort() }
}

function stateOf(file: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(file)
    return `${file} ${ino} ${size} ${mtimeMs}`
  } catch (error) {
    return (error as Error).message
  }
}

interface DevView {
  title: string
  /** The errors that keep the view from showing the current file. Empty if the view is current. */
  faults: string[]
  holders: string[]
  holder: number
  /** The languages of the definition, the default first; empty if the definition names none. */
  languages: string[]
  language: string | null
  /** The phones with their styles; null if there is nothing to draw. */
  phones: Record<Scheme, string> | null
  styles: Record<Scheme, string>
  outline: string
}

const schemes = ['light', 'dark'] as const
type Scheme = (typeof schemes)[number]

function devPage(file: string): Page {
  const panels = schemes.map(
    (scheme) => `<section class="scheme ${scheme}" aria-labelledby="${scheme}-title">
<h2 id="${scheme}-title">${scheme === 'light' ? 'Light' : 'Dark'}</h2><div class="panel" data-scheme="${scheme}"></div></section>`,
  )
  return buildPage({
    title: file,
    styles: [browserFile('template-dev.css')],
    script: devScript.path,
    icon: pageIcon.path,
    isLive: true,
    bodyClass: 'dev',
    main: `<header class="top"><div><h1 dir="auto" id="title">${escapeHtml(file)}</h1><p class="muted" id="state" role="status">Loading</p></div>
<div class="choices"><label id="of-language" hidden>Language <select id="language"></select></label>
<label>Holder <select id="holder"></select></label></div></header>
<div id="faults" role="alert" hidden></div>
<div class="columns"><div class="panels">${panels.join('\n')}</div>
<aside aria-label="Fields and warnings" id="outline"></aside></div>`,
  })
}

/** Returns HTML with every field and its notes. Notes about other parts come first. */
function outlineHtml({ design }: Definition, notes: readonly PlacedNote[]): string {
  const places = fieldGroups.flatMap((group) => {
    const fields = design.fields[group]
    const path = ['definition', 'design', 'fields', group]
    if (fields.length === 0) return []
    return [
      { path, html: `<h3>${group}</h3>` },
      ...fields.map(({ key, label }, index) => ({
        path: [...path, index],
        html: `<p><code>${escapeHtml(key)}</code> <span dir="auto">${escapeHtml(label)}</span></p>`,
      })),
    ]
  })
  const placeOf = (note: PlacedNote) => places.findLast(({ path }) => path.every((part, at) => note.path[at] === part))
  const notesOf = (place: (typeof places)[number] | undefined) =>
    notes
      .filter((note) => placeOf(note) === place)
      .map(noteHtml)
      .join('')
  const general = notesOf(undefined)
  const fields = places.map((place) => {
    const own = notesOf(place)
    return `<li${own ? ' class="is-noted"' : ''}>${place.html}${own}</li>`
  })
  return `<h2>Fields</h2>
${general ? `<div class="general">${general}</div>` : ''}<ul>${fields.join('')}</ul>
${notes.length === 0 ? '<p class="muted">No problems found.</p>' : ''}`
}

function noteHtml({ code, path, message, line, column }: PlacedNote): string {
  const place = line === undefined ? path.slice(1).join('.') : `line ${line}, column ${column}`
  const head = code ? `<strong>${escapeHtml(code)}</strong>` : '<strong>prevents publishing</strong>'
  return `<p class="note${code ? '' : ' problem'}">${head} <span class="muted">${escapeHtml(place)}</span><br>
<span dir="auto">${escapeHtml(message)}</span></p>`
}
