import { useLayoutEffect } from 'preact/hooks'

/** The parts of its usual size that a wall is drawn at, the largest that fits; below the last nobody could read it from afar. */
const SIZES = [1, 0.96, 0.92, 0.88, 0.84, 0.8, 0.76, 0.72, 0.68, 0.64, 0.6]

/**
 * Draws a wall as large as it fits on its screen, whatever its language, its fonts and what it shows: nobody scrolls a wall. The
 * style sheet multiplies by `--fit`.
 */
export function useWholeWall(isWall: boolean): void {
  useLayoutEffect(() => {
    if (!isWall) return
    const page = document.documentElement
    const fit = () => {
      for (const size of SIZES) {
        page.style.setProperty('--fit', String(size))
        if (page.scrollHeight <= page.clientHeight) return
      }
    }
    // Of the body, which is as high as what it shows; sizes that fit change nothing, and so it ends.
    const watch = new ResizeObserver(fit)
    watch.observe(document.body)
    addEventListener('resize', fit)
    return () => {
      watch.disconnect()
      removeEventListener('resize', fit)
    }
  }, [isWall])
}
