import { expect, test } from 'vitest'
import { type Api, ApiRejection } from '../../../src/desk/live/desk-api.ts'
import { listProjects } from '../../../src/desk/live/load-projects.ts'

const listed = [
  { id: 'p2', name: 'Polyglot 2027' },
  { id: 'p1', name: 'Polyglot 2026' },
]
const old = { id: 'p0', name: 'Polyglot 2019' }

function apiThatAnswers(status: number, asked: string[] = []): Api {
  return {
    projects: {
      list: async () => ({ items: listed, total: listed.length, nextCursor: null }),
      get: async ({ params }: { params: { id: string } }) => {
        asked.push(params.id)
        if (params.id === old.id) return old
        throw new ApiRejection({ status, code: '', message: 'No', waitMs: null })
      },
    },
  } as unknown as Api
}

test.each([null, 'p1', 'Polyglot 2027'])('for %s, reads only the newest', async (wanted) => {
  const asked: string[] = []
  const projects = await listProjects(apiThatAnswers(404, asked), ['templates:read'], { boundTo: undefined, wanted })
  expect([projects, asked]).toEqual([listed, []])
})

test('finds a project outside the list by its ID, and skips unknown IDs', async () => {
  const find = (wanted: string, status: number) =>
    listProjects(apiThatAnswers(status), ['templates:read'], { boundTo: undefined, wanted })
  expect(await find('p0', 404)).toEqual([...listed, old])
  expect(await find('p9', 404)).toEqual(listed)
  expect(await find('no id', 400)).toEqual(listed)
  await expect(find('p9', 503)).rejects.toThrow('No')
})
