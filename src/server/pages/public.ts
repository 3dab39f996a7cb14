import type { H3 } from 'h3'
import { Problem } from '../../core/errors.ts'
import { Uuid } from '../../core/ids.ts'
import { openApiDocument } from '../../core/openapi.ts'
import type { Services } from '../context.ts'
import type { Readiness } from '../readiness.ts'
import { type Asset, assetPath, assetResponse, pageIcon, tabletScript } from './assets.ts'
import { docsPage, docsPath, docsScript, docsStyle } from './docs.ts'
import { pageResponse } from './html.ts'
import { loadReferenceFiles } from './reference-files.ts'

/** What is served without a token beside hosted links: images, what pages load, the interface description, health. */
export function mountPublic(app: H3, { store }: Services, readiness: Readiness): void {
  app.get('/images/:id', async (event) => {
    const { data: id } = Uuid.safeParse(event.context.params?.id)
    const image = id && (await store.images.findPublic(id))
    if (!image) throw new Problem('NOT_FOUND', { message: 'There is no such image.' })
    return new Response(new Uint8Array(image.data), {
      headers: {
        'content-type': image.contentType,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'cross-origin',
      },
    })
  })

  app.get(assetPath, async (event) => {
    const found = await findAsset(event.url.pathname)
    if (!found) throw new Problem('NOT_FOUND', { message: 'There is no such file.' })
    return assetResponse(found, event.req.headers)
  })

  app.get('/', () => new Response(null, { status: 302, headers: { location: `.${docsPath}` } }))

  app.get(docsPath, async () => pageResponse(docsPage(await loadReferenceFiles())))

  const description = JSON.stringify(openApiDocument())
  app.get('/openapi.json', () => new Response(description, { headers: { 'content-type': 'application/json' } }))

  app.get('/healthz', () => Response.json({ status: 'ok' }))

  app.get('/readyz', async () => {
    const checks = await readiness()
    const isReady = Object.values(checks).every(Boolean)
    return Response.json({ status: isReady ? 'ready' : 'unavailable', checks }, { status: isReady ? 200 : 503 })
  })
}

const ownAssets = new Map([tabletScript, pageIcon, docsScript, docsStyle].map((asset) => [asset.path, asset]))

async function findAsset(path: string): Promise<Asset | undefined> {
  if (ownAssets.has(path) || !path.includes('/swagger-ui')) return ownAssets.get(path)
  return Object.values(await loadReferenceFiles()).find((file: Asset) => file.path === path)
}
