import { expect, test } from 'vitest'
import { createImageCache } from '../../../src/server/pages/public.ts'
import type { Store } from '../../../src/storage/store.ts'

function counting(bytes: number) {
  const reads: string[] = []
  const findPublic = async (id: string) => {
    reads.push(id)
    return id === 'none' ? undefined : { id, contentType: 'image/png', data: Buffer.alloc(bytes, id) }
  }
  return { reads, store: { images: { findPublic } } as unknown as Store }
}

test('requests for an image share one buffer that was read once', async () => {
  const { reads, store } = counting(100)
  const cache = createImageCache(store, 1_000)
  const files = await Promise.all(Array.from({ length: 50 }, () => cache.find('a')))
  files.push(await cache.find('a'))
  expect(reads).toEqual(['a'])
  expect(new Set(files.map((file) => file!.content.buffer)).size).toBe(1)
  expect(await cache.find('none')).toBeUndefined()
})

test('the cache holds a limited number of bytes of the most recently used images', async () => {
  const { reads, store } = counting(100)
  // Each entry counts as its bytes and 200 more.
  const cache = createImageCache(store, 900)
  for (const id of ['a', 'b', 'c', 'a', 'd', 'a', 'c', 'b']) await cache.find(id)
  expect(reads).toEqual(['a', 'b', 'c', 'd', 'b'])
})

test('does not cache an image that is larger than the cache', async () => {
  const { reads, store } = counting(500)
  const cache = createImageCache(store, 300)
  for (const id of ['a', 'a']) expect((await cache.find(id))!.content).toHaveLength(500)
  expect(reads).toEqual(['a', 'a'])
})
