import { useLayoutEffect } from 'preact/hooks'

/** The smallest text size in pixels. A screen on which it does not fit, such as a phone, shows a page to scroll. */
const MIN_PX = 9

/** The largest text size, as a share of the width of the screen. */
const MAX_SHARE = 0.018

/** The least width of a column, in multiples of the text size. */
const COLUMN = 24

/** Halvings of the range of sizes: what is left is less than half a pixel. */
const STEPS = 7

const isWhole = (part: Element) => part.scrollWidth <= part.clientWidth && part.scrollHeight <= part.clientHeight

/**
 * Draws a wall with the largest text that fits its screen, whatever its language, its fonts and what it shows: nobody scrolls a
 * wall. The style sheet puts the cards into `--columns`, one after another.
 */
export function useWholeWall(isWall: boolean): void {
  useLayoutEffect(() => {
    if (!isWall) return
    const page = document.documentElement
    const fits = (px: number) => {
      page.style.fontSize = `${px}px`
      page.style.setProperty('--columns', String(Math.max(1, Math.floor(page.clientWidth / (COLUMN * px)))))
      return [...document.querySelectorAll('.board, .scroll')].every(isWhole)
    }
    const fit = () => {
      page.classList.add('whole')
      let [fitting, tooLarge] = [MIN_PX, Math.max(MIN_PX, page.clientWidth * MAX_SHARE)]
      if (!fits(MIN_PX)) {
        page.classList.remove('whole')
        page.style.fontSize = ''
        return
      }
      for (let step = 0; step < STEPS; step += 1) {
        const middle = (fitting + tooLarge) / 2
        if (fits(middle)) fitting = middle
        else tooLarge = middle
      }
      fits(fitting)
    }
    const watch = new MutationObserver(fit)
    watch.observe(document.body, { childList: true, subtree: true, characterData: true })
    addEventListener('resize', fit)
    return () => {
      watch.disconnect()
      removeEventListener('resize', fit)
    }
  }, [isWall])
}
