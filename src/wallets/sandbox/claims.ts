import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makePrivateFolder, writePrivate } from '../../files/private-file.ts'

/** Says who plays a platform. A file that appears whole, and whose number only grows. */
export interface Claim {
  number: number
  id: string
  /** The process that made it. */
  pid: number
  /** Where that process answers for as long as it lives. */
  url: string
}

/**
 * Claims on one platform, as numbered files of a folder that several processes share: the highest one holds. Whoever finds
 * it dead makes the next number, which only one can, and removes the lower ones. The highest file is never removed, so
 * that a number which was judged long ago cannot be made anew and hold.
 */
export interface Claims {
  /** The one that holds. */
  find(): Promise<Claim | undefined>
  /** Makes the claim behind `before`; undefined where somebody else was quicker. */
  claim(before: Claim | undefined, claim: Omit<Claim, 'number'>): Promise<Claim | undefined>
}

export function createClaims(folder: string, name: string): Claims {
  const pattern = new RegExp(`^${name}-owner-(\\d+)\\.json$`)
  const fileOf = (number: number) => join(folder, `${name}-owner-${number}.json`)

  async function listNumbers(): Promise<number[]> {
    const names = await readdir(folder)
    return names.flatMap((file) => pattern.exec(file)?.[1] ?? []).map(Number)
  }

  async function find(): Promise<Claim | undefined> {
    const number = Math.max(0, ...(await listNumbers()))
    if (number === 0) return undefined
    const text = await readFile(fileOf(number), 'utf8').catch(ignoring('ENOENT'))
    // Removed since: somebody made a higher one.
    return text === undefined ? find() : { ...JSON.parse(text), number }
  }

  return {
    async find() {
      makePrivateFolder(folder)
      return find()
    },
    async claim(before, { id, pid, url }) {
      const number = (before?.number ?? 0) + 1
      const draft = `${fileOf(number)}.${randomUUID()}`
      await writePrivate(draft, JSON.stringify({ id, pid, url }))
      try {
        await link(draft, fileOf(number))
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
        return undefined
      } finally {
        await rm(draft)
      }
      // The number may have been free again, its holder dead and replaced.
      if ((await find())?.id !== id) return undefined
      const lower = (await listNumbers()).filter((other) => other < number)
      await Promise.all(lower.map((other) => rm(fileOf(other), { force: true })))
      return { number, id, pid, url }
    },
  }
}

function ignoring(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error
    return undefined
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
