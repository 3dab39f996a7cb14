import { once } from 'node:events'
import { type FSWatcher, watch } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname } from 'node:path'
import { ApiError } from '../../../core/errors.ts'
import { inLanguage, languagesOf, writtenOf } from '../../../core/rules/template/languages.ts'
import { pageIcon } from '../assets.ts'
import { samplePass, viewsOf } from '../card/preview.ts'
import { phoneStyles, phonesHtml } from '../card/preview-page.ts'
import { pageHeaders, schemeStyle } from '../html.ts'
import { type DevContent, type PlacedNote, previewWallets, scopeOf, warningsOf } from './content.ts'
import { type DevView, devPage, devScript, outlineHtml, type Scheme } from './dev-page.ts'

/** What came of reading the files: a content, or why there is none. */
export type DevReading = { content: DevContent } | { faults: string[] }

/** Which files the page of `template dev` shows, and how they are read. */
export interface TemplateDevOptions {
  /** What the page is called until the file was read. */
  file: string
  /** 0 for a free one. */
  port: number
  /** Reads everything afresh; must not fail. */
  read: () => Promise<DevReading>
  /** The files that it reads, as far as they are known. */
  files: () => string[]
  /** Finds the lines of notes in the file as it was read last. */
  locate: (notes: readonly PlacedNote[]) => Promise<PlacedNote[]>
}

/** The page of `template dev` while it is served. */
export interface TemplateDev {
  url: string
  /** Ends the server, its streams and its watch of the files. */
  close(): Promise<void>
}

/**
 * Serves a page that shows a template file on phones and follows its changes. On the loopback only, and only to pages of its
 * own: another site that points its name here (DNS rebinding) is refused by the Host header.
 * @throws what listening throws, as where the port is taken
 */
export async function startTemplateDev(options: TemplateDevOptions): Promise<TemplateDev> {
  const { file, read, files, locate } = options
  const listeners = new Set<ServerResponse>()
  let content: DevContent | undefined
  let earlierImages: DevContent['images'] = new Map()
  let notes: PlacedNote[] = []
  let faults: string[] = []

  async function reload(): Promise<void> {
    const reading = await read()
    if ('content' in reading) {
      faults = []
      // A page that was not told of the change yet may still ask for what it shows.
      earlierImages = content?.images ?? earlierImages
      content = reading.content
      notes = [...content.problems, ...(await locate(warningsOf(content, new Date())))]
    } else faults = reading.faults
    for (const listener of listeners) listener.write('event: change\ndata:\n\n')
  }

  function view(asked: URLSearchParams): DevView {
    const chosen = Number(asked.get('holder'))
    const languages = content ? languagesOf(writtenOf(content.definition)) : []
    // One that the file names no longer, or never did, is left for its default.
    const language = languages.find((tag) => tag === asked.get('language')) ?? languages[0]
    const holders = [
      'Sample values',
      ...(content?.holders.map(({ label, externalPassId }) => label || externalPassId) ?? []),
    ]
    const holder = holders[chosen] === undefined ? 0 : chosen
    const facts = { title: content?.name ?? file, holders, holder, languages, language: language ?? null }
    try {
      const drawn = content && draw(content, holder, language)
      return {
        ...facts,
        faults,
        phones: drawn?.phones ?? null,
        styles: drawn?.styles ?? { light: '', dark: '' },
        outline: content ? outlineHtml(content.definition, notes) : '',
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // The values of this holder cannot be rendered, or the definition cannot with any.
      return {
        ...facts,
        faults: [...faults, error.message],
        phones: null,
        styles: { light: '', dark: '' },
        outline: '',
      }
    }
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    // Not every path that a client may send can be parsed as an address.
    const [pathname = '/', query] = (request.url ?? '/').split('?', 2)
    const id = pathname.replace(/^\/images\//, '')
    const image = content?.images.get(id) ?? earlierImages.get(id)
    const asset = assets.find(({ path }) => path === pathname)
    if (!isOwnHost(request)) send(response, 403, 'text/plain', 'This page is served to this machine alone.\n')
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
    throw error
  }
  const { port } = server.address() as AddressInfo
  const isOwnHost = ({ headers: { host } }: IncomingMessage) =>
    host === `127.0.0.1:${port}` || host === `localhost:${port}`
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      watching.close()
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

const assets = [devScript, pageIcon]

/** As strict as pages are; nothing of it is for other sites. */
const OWN_HEADERS = { ...pageHeaders({ 'default-src': "'none'" }), 'cross-origin-resource-policy': 'same-origin' }

function send(response: ServerResponse, status: number, contentType: string, body: string | Uint8Array): void {
  response.writeHead(status, { ...OWN_HEADERS, 'content-type': contentType }).end(body)
}

/** A watch of files; see watchFiles. */
export interface FileWatch {
  /** Resolves once they were read for the first time. */
  started: Promise<void>
  close(): void
}

/** An editor writes a file in a few steps: so long after the first of them it is read. */
const SETTLE_MS = 15

/**
 * Calls `changed` after each change of the files, one call at a time, and never with less than the newest. Their folders are
 * watched, since editors put a new file in the place of the old one, and a file may go and come back.
 */
function watchFiles(files: () => string[], changed: () => Promise<void>): FileWatch {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let isRunning = false
  let isClosed = false

  /** Whether a folder is watched from now on that was not before. */
  function follow(): boolean {
    const folders = new Set(files().map((file) => dirname(file)))
    for (const [folder, watcher] of watchers) if (!folders.has(folder)) forget(folder, watcher)
    const added = [...folders].filter((folder) => !watchers.has(folder))
    for (const folder of added) open(folder)
    return added.some((folder) => watchers.has(folder))
  }

  function open(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        if (name === null || files().some((file) => dirname(file) === folder && basename(file) === name)) notice()
      })
      watcher.on('error', () => forget(folder, watcher))
      watchers.set(folder, watcher)
    } catch (error) {
      // A folder that an image is named in need not be there; reading says so.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  function forget(folder: string, watcher: FSWatcher): void {
    watcher.close()
    if (watchers.get(folder) === watcher) watchers.delete(folder)
  }

  function notice(): void {
    if (!isClosed) timer ??= setTimeout(run, SETTLE_MS)
  }

  async function run(): Promise<void> {
    timer = undefined
    if (isRunning) return notice()
    isRunning = true
    try {
      await changed()
      // What was written there before it was watched would go unseen.
      if (follow()) notice()
    } finally {
      isRunning = false
    }
  }

  follow()
  return {
    started: run(),
    close() {
      isClosed = true
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}
