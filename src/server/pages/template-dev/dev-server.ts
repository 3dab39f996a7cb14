import { once } from 'node:events'
import { type FSWatcher, watch } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, dirname } from 'node:path'
import { ApiError } from '../../../core/errors.ts'
import { inLanguage, languagesOf, writtenOf } from '../../../core/rules/template/definition-languages.ts'
import { pageIcon } from '../assets.ts'
import { samplePass, viewsOf } from '../card/card-preview.ts'
import { phoneStyles, phonesHtml } from '../card/preview-page.ts'
import { pageHeaders, schemeStyle } from '../html.ts'
import { type DevContent, type PlacedNote, previewWallets, scopeOf, warningsOf } from './content.ts'
import { type DevView, devPage, devScript, outlineHtml, type Scheme } from './dev-page.ts'

export type DevReading = { content: DevContent } | { faults: string[] }

export interface TemplateDevOptions {
  /** The title of the page until the file is read. */
  file: string
  /** 0 uses a free port. */
  port: number
  /** Reads all files again. Must not throw. */
  read: () => Promise<DevReading>
  /** The files that it reads, as far as they are known. */
  files: () => string[]
  /** Finds the lines of notes in the last read file. */
  locate: (notes: readonly PlacedNote[]) => Promise<PlacedNote[]>
}

export interface TemplateDev {
  url: string
  close(): Promise<void>
}

/**
 * Serves a page that shows a template file on phones and follows its changes. It listens only on the loopback address.
 * The check of the Host header rejects other sites that point their name at this address (DNS rebinding).
 * @throws errors of listening, such as a port that is taken
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
      // A page that has not received the change yet can still request its previous images.
      earlierImages = content?.images ?? earlierImages
      content = reading.content
      notes = [...content.problems, ...(await locate(warningsOf(content, new Date())))]
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
      // The values of this holder, or of any, cannot be rendered.
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
    // A client can send a path that cannot be parsed as a URL.
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

/** The policy of pages, which also blocks other sites. */
const OWN_HEADERS = { ...pageHeaders({ 'default-src': "'none'" }), 'cross-origin-resource-policy': 'same-origin' }

function send(response: ServerResponse, status: number, contentType: string, body: string | Uint8Array): void {
  response.writeHead(status, { ...OWN_HEADERS, 'content-type': contentType }).end(body)
}

export interface FileWatch {
  /** Resolves after the first read. */
  started: Promise<void>
  close(): void
}

/** The delay between the first change and the read, in milliseconds, since editors write a file in several steps. */
const SETTLE_MS = 15

/**
 * Calls `changed` after each change of the files, one call at a time, and always with the newest content. It watches
 * their folders, since editors replace a file, and a file can disappear and come back.
 */
function watchFiles(files: () => string[], changed: () => Promise<void>): FileWatch {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let isRunning = false
  let isClosed = false

  /** Watches the folders of the current files. Returns whether it added one. */
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
      // The folder of an image can be missing. The read reports it.
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
      // Read again: a change before the watch of a new folder began would be missed.
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
