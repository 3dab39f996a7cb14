import type { H3, H3Event, HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import { createLoadingCache } from '../../core/fair-cache.ts'
import { Uuid } from '../../core/ids.ts'
import { describeRoutes, openApiDocument } from '../../core/openapi/document.ts'
import { withSharedParts } from '../../core/openapi/shared-parts.ts'
import { mapInSlices } from '../../core/slices.ts'
import type { Services } from '../context.ts'
import type { Readiness } from '../http/readiness.ts'
import {
  answerFile,
  assetPath,
  copyScript,
  favicon,
  IMMUTABLE,
  type PublicFile,
  pageIcon,
  precompress,
  publicFile,
  REVALIDATED,
  tabletScript,
  touchIcon,
  trialLogo,
} from './assets.ts'
import { pageFile } from './html.ts'
import { sharedPicturePath } from './link/link-parts.ts'
import { errorsPage, errorsPath } from './reference/errors-page.ts'
import { objectsPage, objectsPath } from './reference/objects-page.ts'
import { docsPath, referencePage } from './reference/reference-page.ts'
import { deskPath, doorPath, loadDesk, loadDoor } from './scripted-pages.ts'

export interface PublicOptions {
  services: Pick<Services, 'store' | 'images' | 'badges'>
  readiness: Readiness
  limitFiles(event: H3Event, cost: number): void
  hasSignIn: boolean
}

/** A unit of file size, in bytes. Each full unit counts as one more request against the limit. */
const BYTES_A_REQUEST = 256 * 1024

/** Mounts routes that need no token: images, files of pages, the door, the desk, documentation, and health checks. */
export function mountPublic(app: H3, { services, readiness, limitFiles, hasSignIn }: PublicOptions): void {
  const { store } = services
  const send = (event: H3Event, file: PublicFile): HTTPResponse => {
    const answer = answerFile(file, event.req.headers)
    const more = Math.floor(Number(answer.headers.get('content-length') ?? 0) / BYTES_A_REQUEST)
    if (more > 0) limitFiles(event, more)
    return answer
  }

  const sendImage = (images: ReturnType<typeof createImageCache>) => async (event: H3Event) => {
    const { data: id } = Uuid.safeParse(event.context.params?.id)
    const image = id && (await images.find(id))
    if (!image) throw new ApiError('NOT_FOUND', { message: 'Image not found.' })
    return send(event, image)
  }
  app.get('/images/:id', sendImage(createImageCache(store)))
  const shared = { images: { findPublic: (id: string) => findShared(id, services) } }
  app.get(sharedPicturePath(':id'), sendImage(createImageCache(shared, SHARED_BYTES)))

  const badges = new Map(services.badges.all.map((badge) => [badge.path, once(() => precompress(badge))]))
  app.get('/favicon.ico', (event) => send(event, favicon))

  app.get(assetPath, async (event) => {
    const { pathname } = event.url
    const found = (await badges.get(pathname)?.()) ?? ownAssets.get(pathname)
    if (!found) throw new ApiError('NOT_FOUND', { message: 'File not found.' })
    return send(event, found)
  })

  for (const [path, load] of [
    [doorPath, openDoor],
    [deskPath, hasSignIn ? openDeskWithSignIn : openDesk],
  ] as const) {
    const sendPage = async (event: H3Event) => {
      const found = (await load()).get(event.url.pathname)
      if (!found) throw new ApiError('NOT_FOUND', { message: 'File not found.' })
      return send(event, found)
    }
    app.get(path, sendPage)
    app.get(`${path}/:name`, sendPage)
  }

  app.get('/', () => new Response(null, { status: 302, headers: { location: `.${docsPath}` } }))

  for (const [path, load] of docsPages) app.get(path, async (event) => send(event, await load()))
  // A page for trying requests was once at this address. Redirect it to the API reference.
  app.get(`${docsPath}/try`, () => new Response(null, { status: 302, headers: { location: `..${docsPath}` } }))

  app.get('/openapi.json', async (event) => send(event, await loadDescription()))

  app.get('/healthz', () => Response.json({ status: 'ok' }))

  app.get('/readyz', async () => {
    const checks = await readiness()
    const isReady = Object.values(checks).every(Boolean)
    return Response.json({ status: isReady ? 'ready' : 'unavailable', checks }, { status: isReady ? 200 : 503 })
  })
}

/** The size of images in chat previews. Some chats reject files of more than 600 kB. */
const sharedSize = { width: 800, height: 420, scale: 1 } as const

/**
 * Returns an image in the size for chats. Creates this size on request for images that were uploaded before it existed.
 */
async function findShared(id: string, { store, images }: Pick<Services, 'store' | 'images'>) {
  if (!(await store.images.isPublic(id))) return undefined
  const [file] = await images.loadFiles(id, [sharedSize])
  return file && { contentType: 'image/png', data: file.bytes }
}

const docsPages = [
  [docsPath, onceDescribed(() => pageFile(referencePage()))],
  [objectsPath, onceDescribed(() => pageFile(objectsPage()))],
  [errorsPath, onceDescribed(() => pageFile(errorsPage()))],
] as const

const openDoor = once(loadDoor)
const openDesk = once(() => loadDesk(false))
const openDeskWithSignIn = once(() => loadDesk(true))

/**
 * Returns a function that loads a page of the API description. Its first call builds the description in slices.
 * Building it when the server starts would make the start 50 % longer.
 */
function onceDescribed(make: () => PublicFile): () => Promise<PublicFile> {
  return once(async () => {
    await mapInSlices(describeRoutes(), () => undefined)
    return precompress(make())
  })
}

/** Creates a value once. After a failure, the next call tries again. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}

const loadDescription = onceDescribed(() =>
  publicFile({
    contentType: 'application/json',
    cacheControl: REVALIDATED,
    content: JSON.stringify(withSharedParts(openApiDocument())),
  }),
)

const ownAssets = new Map(
  [tabletScript, copyScript, pageIcon, touchIcon, trialLogo].map((asset) => [asset.path, asset]),
)

interface ImageSource {
  images: { findPublic(id: string): Promise<{ contentType: string; data: Uint8Array } | undefined> }
}

/** The size of the cache: enough for a few dozen icons and logos, which phones and pages request repeatedly. */
const MAX_BYTES = 32 * 1024 * 1024

const SHARED_BYTES = 8 * 1024 * 1024

/** Creates a cache of recently used images. All concurrent responses share one buffer per image. */
export function createImageCache({ images }: ImageSource, maxBytes = MAX_BYTES) {
  const files = createLoadingCache<PublicFile | undefined>(maxBytes, (file) => file?.content.length ?? 0)
  return {
    find: (id: string) =>
      files.find(id, async () => {
        const image = await images.findPublic(id)
        if (!image) return undefined
        const headers = { 'cross-origin-resource-policy': 'cross-origin' }
        const { contentType, data: content } = image
        return publicFile({ contentType, cacheControl: IMMUTABLE, content, headers })
      }),
  }
}
