"""What a distance does not see: numbers, polarity, names."""

import pytest

from salience.memory.differences import difference


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("User has 3 cats", "User has 4 cats", "the numbers differ"),
        ("User has 3 cats", "User has ３ cats", None),
        ("User lives in Oslo", "User lives in Oslo since 2019", "the numbers differ"),
        ("User left on 2026-03-01", "User left on 2026-03-02", "the numbers differ"),
        ("User eats fish", "User does not eat fish", "one is negated"),
        ("User eats fish", "User doesn't eat fish", "one is negated"),
        ("User eats fish", "User doesn’t eat fish", "one is negated"),
        ("User likes olives", "User dislikes olives", "one is negated"),
        ("User works at the mill", "User no longer works at the mill", "one is negated"),
        ("Die Nutzerin isst Fisch", "Die Nutzerin isst keinen Fisch", "one is negated"),
        ("La usuaria come pescado", "La usuaria no come pescado", "one is negated"),
        ("L'utilisateur mange du poisson", "L'utilisateur ne mange pas de poisson", "one is negated"),
        ("Пользователь ест рыбу", "Пользователь не ест рыбу", "one is negated"),
        ("用户吃鱼", "用户不吃鱼", "one is negated"),
        ("ユーザーは魚を食べる", "ユーザーは魚を食べない", "one is negated"),
        ("사용자는 생선을 먹는다", "사용자는 생선을 먹지 않는다", "one is negated"),
        ("المستخدم يأكل السمك", "المستخدم لا يأكل السمك", "one is negated"),
        ("उपयोगकर्ता मछली खाता है", "उपयोगकर्ता मछली नहीं खाता है", "one is negated"),
        ("User's sister is Tove", "User's sister is Tore", "the names differ"),
        ("User's sister TOVE bakes", "User's sister Tove's bakes", None),
        ("The user's grandmother is alive and well", "The user's grandmother is dead and well", "they say opposites"),
        ("User's café is open on Mondays", "User's café is closed on Mondays", "they say opposites"),
        ("User agreed to sell the house", "User declined to sell the house", "they say opposites"),
        ("User is allowed to drive at night", "User is forbidden to drive at night", "they say opposites"),
        ("User can eat peanuts", "User can rarely eat peanuts", "one is negated"),
        ("User's sister lives by the church", "User's brother lives by the church", "the persons differ"),
        ("User's sister lives by the church", "User's sister lives by the church with a friend", None),
        ("User opens the café first", "User opens the café at last and first", None),
        ("The user likes rye bread", "User likes rye bread", None),
        ("User likes rye bread", "User likes rye bread a lot", None),
        ("", "", None),
    ],
)
def test_differences(one, other, found):
    assert difference(one, other) == found
    assert difference(other, one) == found
